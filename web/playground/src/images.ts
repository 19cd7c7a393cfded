// Images that the user adds to a message.
import type { Conversation } from "./conversation.ts";
import { modelOf } from "./server.ts";

/** Media types of the images that the server reads. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"];

/** Returns the maximum number of images in a message; 0 if a model of the conversation reads no images. */
export function mostImages({ models }: Conversation): number {
  const limits = models.map((name) => {
    const features = modelOf(name)?.features;
    return features?.images ? features.maxImages || Infinity : 0;
  });
  return limits.length > 0 ? Math.min(...limits) : 0;
}

/** Reads at most this number of image files as data URIs. trouble is a sentence about the files that were left out. */
export async function readImages(files: File[], most: number): Promise<{ read: string[]; trouble: string }> {
  const images = files.filter((file) => imageTypes.includes(file.type));
  const read = await Promise.all(images.slice(0, Math.max(0, most)).map(dataUri));
  const other = files.find((file) => !images.includes(file));
  if (other) return { read, trouble: `${other.name} isn't a PNG, JPEG, GIF, WebP or BMP image.` };
  return { read, trouble: images.length > read.length ? "The model reads no more images in one message." : "" };
}

function dataUri(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
