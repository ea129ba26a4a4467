// Addresses on the hub and names of files, for which the package and the program have one rule.

/** Paths that a listing must not lead to. */
export const plainlessPaths = [
  ...[
    '../../../evil-Q4_0.gguf',
    'a/../../evil-Q4_0.gguf',
    './evil-Q4_0.gguf',
    'a/.../evil-Q4_0.gguf',
  ],
  ...['/evil-Q4_0.gguf', 'a//evil-Q4_0.gguf', 'C:/evil-Q4_0.gguf', 'a\\evil-Q4_0.gguf'],
  ...[
    'evil\u001b[2J-Q4_0.gguf',
    'evil\n-Q4_0.gguf',
    'evil\u007f-Q4_0.gguf',
    'evil\u009b-Q4_0.gguf',
  ],
];

/** Addresses of the hub's pages, and the address of what they show. */
export const hubPages = {
  'https://huggingface.co/owner/repo': 'hf:owner/repo',
  'https://huggingface.co/owner/repo/?library=gguf#x': 'hf:owner/repo',
  'https://www.huggingface.co/owner/repo': 'hf:owner/repo',
  'https://hf.co/owner/repo/tree/main': 'hf:owner/repo',
  'https://huggingface.co/owner/repo/tree/v2/folder': 'hf:owner/repo@v2',
  'https://huggingface.co/owner/repo/blob/main/m.gguf': 'hf:owner/repo/m.gguf',
  'https://huggingface.co/owner/repo/blob/refs%2Fpr%2F1/a/b%20c/m.gguf?x':
    'hf:owner/repo@refs%2Fpr%2F1/a/b c/m.gguf',
};

/** Other addresses on the hub. */
export const otherPages = [
  'https://huggingface.co/owner',
  'https://huggingface.co/datasets/owner/repo',
  'https://huggingface.co/owner/repo/discussions/1',
  'https://huggingface.co/owner/repo/blob/main/%zz.gguf',
  'https://huggingface.co.example.com/owner/repo',
  'https://example.com/owner/repo',
];

export const hubAddresses = {
  accepted: [
    ...['hf:owner/repo', 'hf://owner/repo', 'hf:owner/repo:Q4_0', 'hf:o.w-n_er/r.e-p_o:IQ4_XS'],
    ...['hf:owner/repo/m.gguf', 'hf:owner/repo/a/b c/m.gguf', 'hf:owner/repo/m..Q4_0.gguf'],
    ...['hf:owner/repo@v2/m.gguf', 'hf:owner/repo@v2:Q4_0', 'hf:owner/repo@v2'],
    ...['hf:owner/repo@refs%2Fpr%2F1/m.gguf', 'hf:owner/repo@a%2bb%25/m.gguf'],
    ...['hf:owner/repo@main/Größe 大.gguf', 'hf:owner/repo/100%25@.gguf'],
  ],
  refused: [
    ...[
      'hf:',
      'hf:owner',
      'hf:owner/',
      'hf:/repo',
      'hf:///repo',
      'hf:owner/repo/',
      'hf:owner/repo:',
    ],
    ...['hf:owner/repo@', 'hf:owner/repo@/m.gguf', 'hf:owner/repo:Q4/0', 'hf:own er/repo'],
    ...['hf:../repo/m.gguf', 'hf:owner/../m.gguf', 'hf:./repo', 'hf:owner/repo@../m.gguf'],
    ...['hf:owner/repo@a%2F..%2Fb/m.gguf', 'hf:owner/repo@%/m.gguf', 'hf:owner/repo@%ff/m.gguf'],
    ...['hf:owner/repo/m.gguf?x', 'hf:owner/repo/m.gguf#x', 'hf:owner/repo/m.gguf/'],
    ...['hf:owner/repo@a%0ab/m.gguf', 'hf:owner/repo@a%5cb/m.gguf', 'hf:owner/repo@a%3ab/m.gguf'],
    ...plainlessPaths.map((path) => `hf:owner/repo/${path}`),
  ],
};
