import type { ByteStream } from '../network.ts';
import { Lane } from './lane.ts';

/** Both ends of one connection; `severed` ends it as the death of either side does. */
export function byteStreamPair(severed?: AbortSignal): readonly [ByteStream, ByteStream] {
  const [forth, back] = [new Lane('bytes'), new Lane('bytes')];
  const close = (): void => {
    forth.close();
    back.close();
    severed?.removeEventListener('abort', close);
  };
  severed?.addEventListener('abort', close, { once: true });
  const side = (incoming: Lane, outgoing: Lane): ByteStream => ({
    chunks: incoming.queue,
    write: (data) => outgoing.send(data),
    end: () => outgoing.end(),
    close,
  });
  return [side(back, forth), side(forth, back)];
}
