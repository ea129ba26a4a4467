// The pictures that go with the next prompt.
import { clearAlert, showAlert } from '../alert.ts';
import { openPanel } from '../panels/panels.ts';
import { Observable } from '../ui/observable.ts';
import { opened } from '../workspace.ts';
import { takePicture } from './picture.ts';
import type { Picture } from './picture.ts';
import { readsPictures, whyNoPictures } from './seeing.ts';

export const draft = new Observable<readonly Picture[]>([]);

/** Adds the pictures that can be read, and shows what is wrong with the others. */
export async function addPictures(files: readonly File[]): Promise<void> {
  if (files.length === 0 || !checkSeeing()) return;
  const wrong: string[] = [];
  for (const file of files) {
    try {
      const picture = await takePicture(file);
      draft.value = [...draft.value, picture];
    } catch (error) {
      wrong.push(`${file.name} ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  if (wrong.length > 0) showAlert('Not added', new Error(wrong.join('; ')));
  else clearAlert();
}

export function removePicture(picture: Picture): void {
  draft.value = draft.value.filter((one) => one !== picture);
}

/** Whether the open model reads pictures; shows a message if it does not. */
export function checkSeeing(): boolean {
  const isSeeing = readsPictures(opened.value);
  if (!isSeeing) {
    const why = new Error(whyNoPictures(opened.value));
    showAlert('Pictures are off', why, {
      name: 'Models that see',
      act: () => {
        openPanel('models');
      },
    });
  }
  return isSeeing;
}
