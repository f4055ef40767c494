import { parseId } from '../../base/numeric-id.ts';
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

/**
 * The group does not count: `1000:1000`, `nobody:nogroup`. A number that no process can have is a user name here: kubelet
 * takes every uid but 0 for a user that is not root, and never a name.
 */
function userOf(user: string): { readonly uid?: { readonly value: bigint }; readonly username?: string } {
  const [name = ''] = user.split(':');
  if (name === '') return {};
  const parsed = parseId(name);
  return parsed.kind === 'id' ? { uid: { value: BigInt(parsed.id) } } : { username: name };
}
