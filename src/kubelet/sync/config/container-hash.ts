import type { Container } from '../../../api/generated/core-v1.ts';
import { fnv1a32 } from '../../../base/go/fnv.ts';
import { goJson } from '../../../base/go/go-json.ts';

/**
 * The annotation `io.kubernetes.container.hash`: what of a container cannot change while it runs. kubelet hashes the
 * text that Go prints for the bytes of a JSON, so that is what is hashed here.
 */
export function containerHash({ image = '', name }: Pick<Container, 'image' | 'name'>): string {
  const bytes = new TextEncoder().encode(goJson({ image, name }));
  return fnv1a32(`([]uint8)[${bytes.join(' ')}]`).toString(16);
}
