import { Image } from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from './image-store.ts';

/** An image as CRI tells it. */
export function imageMessage({ id, repoTags, repoDigests, sizeBytes, config, pinned }: StoredImage): Image {
  return Image.fromPartial({
    id,
    repoTags: [...repoTags],
    repoDigests: [...repoDigests],
    size: BigInt(sizeBytes),
    ...userOf(config.user),
    pinned,
  });
}

/** The group does not count: `1000:1000`, `nobody:nogroup`. */
function userOf(user: string): { readonly uid?: { readonly value: bigint }; readonly username?: string } {
  const [name = ''] = user.split(':');
  if (name === '') return {};
  return /^\d{1,18}$/.test(name) ? { uid: { value: BigInt(name) } } : { username: name };
}
