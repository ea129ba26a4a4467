// A model's card in the lists of models.
import { html, nothing } from 'lit-html';
import type { TemplateResult } from 'lit-html';
import { hubPage } from 'kinglet/catalogue';

export interface Card {
  name: string;
  about?: string;
  /** Size, licence and the like. */
  facts: string;
  /** Why the model may be too much for this machine. */
  hint?: string | undefined;
  /** The address on the hub: hf:owner/repo/file */
  address?: string;
  isOpen?: boolean;
  /** Undefined for a file that cannot be loaded by itself. */
  onLoad?: (() => unknown) | undefined;
  onDelete?: () => unknown;
}

export function modelCard(card: Card): TemplateResult {
  const { name, about, facts, hint, address, isOpen = false, onLoad, onDelete } = card;
  return html`<li class="card" aria-current=${isOpen ? 'true' : nothing}>
    <div>
      <strong>${name}</strong>
      ${about ? html`<p>${about}</p>` : nothing}
      <p class="soft">${facts}</p>
      ${hint ? html`<p class="soft hint">${hint}</p>` : nothing}
      ${address ? source(address) : nothing}
    </div>
    ${
      isOpen
        ? html`<span class="loaded">Loaded</span>`
        : onLoad
          ? html`<button
              type="button"
              class="button quiet"
              aria-label="Load ${name}"
              @click=${onLoad}
            >
              Load
            </button>`
          : nothing
    }
    ${
      onDelete
        ? html`<button
            type="button"
            class="button quiet"
            aria-label="Delete ${name}"
            @click=${onDelete}
          >
            Delete
          </button>`
        : nothing
    }
  </li>`;
}

function source(address: string): TemplateResult {
  return html`<details class="address">
    <summary>Where it comes from</summary>
    <a href=${hubPage(address)} target="_blank" rel="noopener">${address}</a>
  </details>`;
}
