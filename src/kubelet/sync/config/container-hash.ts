import type { Container } from '../../../api/generated/core-v1.ts';
import { fnv1a32 } from '../../../base/go/fnv.ts';
import { goJson } from '../../../base/go/go-json.ts';

/**
 * The annotation `io.kubernetes.container.hash`: a hash of the fields that cannot change while a container runs.
 * kubelet hashes Go's `%v` text of the JSON bytes.
 */
export function containerHash({ image = '', name }: Pick<Container, 'image' | 'name'>): string {
  const bytes = new TextEncoder().encode(goJson({ image, name }));
  return fnv1a32(`([]uint8)[${bytes.join(' ')}]`).toString(16);
}
