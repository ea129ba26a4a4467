import { inspect } from 'kinglet';

/** Whether a file reads pictures for a model, by its name or else by what it says of itself. */
export async function isReader(file: File): Promise<boolean> {
  if (isReaderName(file.name)) return true;
  try {
    const { metadata } = await inspect(file);
    return metadata.some(({ key, value }) => key === 'general.architecture' && value === 'clip');
  } catch {
    return false; // what is wrong with it shows when it is loaded
  }
}

/** As the package finds it on the hub. */
export function isReaderName(name: string): boolean {
  return /mmproj[^/]*\.gguf$/i.test(name);
}
