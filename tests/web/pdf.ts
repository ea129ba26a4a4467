// Makes PDF files for tests. Source: ISO 32000-1, 7.5 (the structure of files).

/** Returns a PDF with these pages, each a list of lines without parentheses. */
export function pdfOf(pages: readonly (readonly string[])[]): Uint8Array<ArrayBuffer> {
  const fontAt = 3 + 2 * pages.length; // the objects: catalogue, list of pages, two for each page
  const kids = pages.map((_, i) => `${String(3 + 2 * i)} 0 R`).join(' ');
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${String(pages.length)} >>`,
    ...pages.flatMap((lines, i) => {
      const shown = lines.map((line) => `(${line}) Tj 0 -24 Td`).join(' ');
      const content = `BT /F 18 Tf 20 700 Td ${shown} ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${String(4 + 2 * i)} 0 R ` +
          `/Resources << /Font << /F ${String(fontAt)} 0 R >> >> >>`,
        `<< /Length ${String(content.length)} >>\nstream\n${content}\nendstream`,
      ];
    }),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let file = '%PDF-1.4\n';
  const places = objects.map((object, i) => {
    const place = file.length;
    file += `${String(i + 1)} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const size = String(objects.length + 1);
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}`;
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${String(file.length)}\n%%EOF\n`;
  return new TextEncoder().encode(file + table + trailer);
}
