// Says what would give a model threads where memory cannot be shared. Which header works where is
// tested: tests/web/isolation.test.ts.

interface AgentData {
  brands: { brand: string; version: string }[];
  mobile: boolean;
}

const opener = 'Cross-Origin-Opener-Policy: same-origin';
const strict = `${opener} and Cross-Origin-Embedder-Policy: require-corp`;

/** For a worker of a page that is not cross-origin isolated. */
export function threadsRemedy(): string {
  if (!globalThis.isSecureContext) return 'serve the page with HTTPS, or from localhost';
  const { userAgentData, userAgent } = navigator as Navigator & { userAgentData?: AgentData };
  const chromium = userAgentData?.brands.find(({ brand }) => brand === 'Chromium');
  const headers = `serve the page and the package with ${strict}`;
  if (chromium && Number(chromium.version) >= 137 && !userAgentData?.mobile) {
    return `${headers}, or the page with Document-Isolation-Policy: isolate-and-credentialless`;
  }
  const isSafari = !chromium && !userAgent.includes('Firefox/');
  return isSafari ? headers : `${headers} (or credentialless)`;
}
