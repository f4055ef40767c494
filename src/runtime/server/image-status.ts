import type { ImageService } from '../../cri/services.ts';
import { imageMessage } from '../images/image-message.ts';
import type { ImageRecord } from '../images/image-records.ts';
import type { ImageStore } from '../images/image-store.ts';

export interface ImageStatusDeps {
  readonly images: ImageStore & {
    record(reference: string): ImageRecord | undefined;
    configText(id: string): Promise<string>;
  };
}

/** The result for an unknown image is empty, not an error. */
export function imageStatus({ images }: ImageStatusDeps): ImageService['imageStatus'] {
  return async ({ image, verbose }) => {
    const reference = image?.image ?? '';
    const found = images.find(reference);
    if (found === undefined) return { image: undefined, info: {} };
    return { image: imageMessage(found), info: verbose ? await verboseInfo(images, found.id) : {} };
  };
}

/** containerd's keys, which scripts read. */
async function verboseInfo(images: ImageStatusDeps['images'], id: string): Promise<Record<string, string>> {
  const chainID = images.record(id)?.layers.at(-1)?.chainId ?? '';
  const imageSpec: unknown = JSON.parse(await images.configText(id));
  return { info: JSON.stringify({ chainID, imageSpec }) };
}
