import type { Clock } from '../../host/clock.ts';
import type { ByteStream } from '../../host/network.ts';
import { openSpdySession } from '../../streams/spdy/open-spdy-session.ts';
import type { SpdySession } from '../../streams/spdy/spdy-session.ts';

/** How long a client may take to hang up when it was told to. */
const CLOSE_TIMEOUT_MS = 10_000;

/** The session of a client. One that neither reads what is left for it nor hangs up is cut off a while after `close`. */
export function openClientSession(transport: ByteStream, clock: Pick<Clock, 'deadline'>): SpdySession {
  const session = openSpdySession(transport, 'server');
  let isClosing = false;
  return {
    incoming: session.incoming,
    open: (headers, signal) => session.open(headers, signal),
    closed: session.closed,
    close: () => {
      if (!isClosing) clock.deadline(CLOSE_TIMEOUT_MS).addEventListener('abort', () => transport.close(), { once: true });
      isClosing = true;
      return session.close();
    },
  };
}
