// The machine's camera: opening it, taking pictures, and closing it.

/** @throws Error with a message for the visitor. */
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

/** Stops the camera; its light goes out. */
export function closeCamera(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

/** Pixels per side: some models need less time for smaller pictures. */
const maxSide = 512;

/** The picture that the camera sees now. The caller must close it. */
export function frameOf(video: HTMLVideoElement): Promise<ImageBitmap> {
  const { videoWidth, videoHeight } = video;
  const scale = Math.min(1, maxSide / Math.max(videoWidth, videoHeight));
  return createImageBitmap(video, {
    resizeWidth: Math.max(1, Math.round(videoWidth * scale)),
    resizeHeight: Math.max(1, Math.round(videoHeight * scale)),
    resizeQuality: 'high',
  });
}
