// The machine's camera: opened, looked at, and let go.

/** @throws Error with words for the visitor. */
export async function openCamera(): Promise<MediaStream> {
  try {
    const video = { facingMode: 'environment', width: { ideal: 640 }, height: { ideal: 480 } };
    return await navigator.mediaDevices.getUserMedia({ video });
  } catch (error) {
    const name = error instanceof DOMException ? error.name : '';
    throw new Error(reasons[name] ?? `the browser did not open it (${String(error)})`, {
      cause: error,
    });
  }
}

const reasons: Record<string, string> = {
  NotAllowedError: 'this page may not use it; the browser’s settings for this page can allow it',
  NotFoundError: 'none was found',
  NotReadableError: 'another program uses it',
};

/** Its light goes out. */
export function closeCamera(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

/** Pixels a side: some models need less time for less of them. */
const maxSide = 512;

/** What is to be seen now. To be closed. */
export function frameOf(video: HTMLVideoElement): Promise<ImageBitmap> {
  const { videoWidth, videoHeight } = video;
  const scale = Math.min(1, maxSide / Math.max(videoWidth, videoHeight));
  return createImageBitmap(video, {
    resizeWidth: Math.max(1, Math.round(videoWidth * scale)),
    resizeHeight: Math.max(1, Math.round(videoHeight * scale)),
    resizeQuality: 'high',
  });
}
