import { inspect } from 'kinglet';

/** Whether a file is a picture reader for a model, judged by its name or else by its metadata. */
export async function isReader(file: File): Promise<boolean> {
  if (isReaderName(file.name)) return true;
  try {
    const { metadata } = await inspect(file);
    return metadata.some(({ key, value }) => key === 'general.architecture' && value === 'clip');
  } catch {
    return false; // loading the file will report the error
  }
}

/** Whether a file has the name of a picture reader. The package uses the same rule on the hub. */
export function isReaderName(name: string): boolean {
  return /mmproj[^/]*\.gguf$/i.test(name);
}
