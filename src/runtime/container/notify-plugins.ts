import type { Log } from '../../base/log.ts';

/** Notifies NRI plugins of an event that they cannot veto. Logs errors; never rejects. */
export async function notifyPlugins(
  event: string,
  id: string,
  log: Log,
  notify: () => Promise<unknown>,
): Promise<void> {
  try {
    await notify();
  } catch (error) {
    log.warn('cannot notify NRI plugins of a container event', { event, containerId: id, error });
  }
}
