import { parseId } from '../../base/numeric-id.ts';
import { Image } from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from './image-store.ts';

/** Converts an image to its CRI message. */
export function imageMessage({ id, repoTags, repoDigests, sizeBytes, config, pinned }: StoredImage): Image {
  return Image.fromPartial({
    id,
    repoTags: [...repoTags],
    repoDigests: [...repoDigests],
    size: BigInt(sizeBytes),
    ...imageUser(config.user),
    pinned,
  });
}

/**
 * Parses the user without its group: `1000:1000`, `web:web`. A number beyond the kernel's limit is returned as a user name:
 * kubelet accepts every uid but 0 as non-root, but never a name.
 */
function imageUser(user: string): { readonly uid?: { readonly value: bigint }; readonly username?: string } {
  const [name = ''] = user.split(':');
  if (name === '') return {};
  const parsed = parseId(name);
  return parsed.kind === 'id' ? { uid: { value: BigInt(parsed.id) } } : { username: name };
}
