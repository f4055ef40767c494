import { abortable } from '../../base/abortable.ts';
import type { Log } from '../../base/log.ts';
import { mapInBatches } from '../../base/map-in-batches.ts';
import type { ImageService, RuntimeService } from '../../cri/services.ts';
import type { Clock } from '../../host/clock.ts';
import type { ImageNames } from './cgroup-owners.ts';

/** How long a scrape waits for the runtime. Without its answer, images have the names of the pods' specs. */
const RUNTIME_MS = 5_000;
const SANDBOXES_AT_ONCE = 8;

export interface RuntimeImageNamesDeps {
  readonly images: Pick<ImageService, 'listImages'>;
  readonly runtime: Pick<RuntimeService, 'podSandboxStatus'>;
  readonly clock: Pick<Clock, 'deadline'>;
  readonly log: Log;
}

export interface ShownImages {
  readonly imageIds: ReadonlySet<string>;
  readonly sandboxIds: ReadonlySet<string>;
}

/** Names of the images of containers and sandboxes. The runtime is asked only about new ones. */
export class RuntimeImageNames {
  readonly #deps: RuntimeImageNamesDeps;
  readonly #images = new Map<string, string>();
  readonly #sandboxes = new Map<string, string>();

  constructor(deps: RuntimeImageNamesDeps) {
    this.#deps = deps;
  }

  async of({ imageIds, sandboxIds }: ShownImages, signal: AbortSignal): Promise<ImageNames> {
    retain(this.#images, imageIds);
    retain(this.#sandboxes, sandboxIds);
    const limited = AbortSignal.any([signal, this.#deps.clock.deadline(RUNTIME_MS)]);
    const newSandboxes = [...sandboxIds].filter((id) => !this.#sandboxes.has(id));
    await Promise.all([
      [...imageIds].some((id) => !this.#images.has(id)) && this.#learnImages(imageIds, limited),
      mapInBatches(newSandboxes, SANDBOXES_AT_ONCE, (id) => this.#learnSandbox(id, limited)),
    ]);
    return { images: this.#images, sandboxes: this.#sandboxes };
  }

  async #learnImages(ids: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const { images, log } = this.#deps;
    try {
      const answer = await abortable(images.listImages({ filter: undefined }, signal), signal);
      const known = new Map(answer.images.map(({ id, repoTags, repoDigests }) => [id, repoTags[0] ?? repoDigests[0]]));
      for (const id of ids) this.#images.set(id, known.get(id) ?? '');
    } catch (error) {
      log.debug('cannot list images', { error });
    }
  }

  async #learnSandbox(podSandboxId: string, signal: AbortSignal): Promise<void> {
    const { runtime, log } = this.#deps;
    try {
      const request = { podSandboxId, verbose: true };
      const { info } = await abortable(runtime.podSandboxStatus(request, signal), signal);
      this.#sandboxes.set(podSandboxId, imageIn(info['info'] ?? ''));
    } catch (error) {
      log.debug('cannot read the status of a sandbox', { sandbox: podSandboxId, error });
    }
  }
}

/** containerd and CRI-O describe a sandbox in JSON, whose `image` is its name. Empty: it has no image. */
function imageIn(info: string): string {
  try {
    const parsed: unknown = JSON.parse(info);
    const image = typeof parsed === 'object' && parsed !== null && 'image' in parsed ? parsed.image : undefined;
    return typeof image === 'string' ? image : '';
  } catch {
    return '';
  }
}

function retain(names: Map<string, string>, ids: ReadonlySet<string>): void {
  for (const id of names.keys()) if (!ids.has(id)) names.delete(id);
}
