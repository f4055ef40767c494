import type { TCPSocketAction } from '../../api/generated/core-v1.ts';
import { dialErrorText, hostPort } from './dial-error-text.ts';
import type { ProbeHandler } from './probe-handler.ts';
import { probePort } from './probe-port.ts';

/** Opens a TCP connection; that it opens is the success. */
export const checkTcp: ProbeHandler<TCPSocketAction> = async (action, { container, podIP }, { network }, limit) => {
  const port = probePort(action.port, container);
  const host = action.host || podIP;
  const shownAddress = hostPort(host, port);
  try {
    const [address] = await network.lookup(host, limit.signal);
    const connection = await network.dial({ host: address, port }, limit.signal);
    connection.close();
    return { kind: 'success', output: '' };
  } catch (error) {
    if (limit.isExceeded()) return { kind: 'failure', output: `dial tcp ${shownAddress}: i/o timeout` };
    limit.signal.throwIfAborted();
    return { kind: 'failure', output: dialErrorText(error, shownAddress) };
  }
};
