import type { Log } from '../../base/log.ts';

/** Of what has happened, or has to happen: what NRI plugins say to it cannot change anything. Never rejects. */
export async function tellPlugins(what: string, id: string, log: Log, tell: () => Promise<unknown>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    log.warn('cannot tell NRI plugins about a container', { what, containerId: id, error });
  }
}
