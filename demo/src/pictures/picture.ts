// A picture of a conversation: a file that models can read, and not much larger than they need.

export interface Picture {
  name: string;
  file: Blob;
}

/** Files up to this size are kept as they are. */
const maxKeptBytes = 4e6;
/** Other files are scaled to this many pixels per side: the models on offer see no more. */
const scaledSide = 2048;
const maxBytes = 100e6;
/** The types that the package reads. */
const readTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/avif', 'image/bmp'];

/** Whether a file is a picture. The page treats SVG drawings as texts. */
export function isPicture({ type }: File): boolean {
  return type.startsWith('image/') && type !== 'image/svg+xml';
}

/** @throws Error with a message that follows the file's name in a sentence: "… is a GIF". */
export async function takePicture(file: File): Promise<Picture> {
  if (file.size > maxBytes) throw new Error('has more than 100 MB');
  if (await isGif(file)) throw new Error('is a GIF; save one of its frames as PNG or JPEG');
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error('is not a picture that this browser can read, or it is damaged or too large');
  });
  try {
    const isFine = file.size <= maxKeptBytes && readTypes.includes(file.type);
    return { name: file.name, file: isFine ? file : await scaled(bitmap, scaledSide) };
  } finally {
    bitmap.close();
  }
}

/** Returns a JPEG of at most `maxSide` pixels per side, with white behind transparent parts. */
export function scaled(bitmap: ImageBitmap, maxSide: number): Promise<Blob> {
  const { width, height } = bitmap;
  const scale = Math.min(1, maxSide / Math.max(width, height));
  const sideOf = (side: number) => Math.max(1, Math.round(side * scale));
  const canvas = new OffscreenCanvas(sideOf(width), sideOf(height));
  const context = canvas.getContext('2d');
  if (!context) throw new Error('cannot be scaled down: this browser provides no canvas');
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas.convertToBlob({ type: 'image/jpeg', quality: 0.9 });
}

/** Checks the content, because names can be wrong. */
async function isGif(file: Blob): Promise<boolean> {
  return (await file.slice(0, 4).text()) === 'GIF8';
}

export function dataUrl(file: Blob): Promise<string> {
  const reader = new FileReader();
  reader.readAsDataURL(file);
  return new Promise((resolve, reject) => {
    reader.onload = () => {
      resolve(reader.result as string);
    };
    reader.onerror = () => {
      reject(reader.error ?? new Error('a picture could not be read'));
    };
  });
}
