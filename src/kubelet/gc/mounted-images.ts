import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';

/**
 * Images that containers mount as volumes. A list of containers does not have them, but the mounts of a container never
 * change: the status of each container is read once.
 */
export class MountedImages {
  readonly #runtime: Pick<RuntimeService, 'containerStatus'>;
  #byContainer: ReadonlyMap<string, readonly string[]> = new Map();

  constructor(runtime: Pick<RuntimeService, 'containerStatus'>) {
    this.#runtime = runtime;
  }

  /** The references by which the containers mount images. */
  async references(containerIds: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const id of containerIds) {
      const references = this.#byContainer.get(id) ?? (await this.#read(id, signal));
      if (references) found.set(id, references);
    }
    this.#byContainer = found;
    return [...found.values()].flat();
  }

  /** `undefined` if the container was removed meanwhile. */
  async #read(containerId: string, signal: AbortSignal): Promise<readonly string[] | undefined> {
    try {
      const { status } = await this.#runtime.containerStatus({ containerId, verbose: false }, signal);
      return status?.mounts.flatMap(({ image }) => image?.image ?? []) ?? [];
    } catch (error) {
      if (error instanceof CriError && error.code === 'NotFound') return undefined;
      throw error;
    }
  }
}
