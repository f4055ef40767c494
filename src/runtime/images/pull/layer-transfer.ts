import { errorText } from '../../../base/error-text.ts';
import type { Log } from '../../../base/log.ts';
import type { Clock } from '../../../host/clock.ts';
import { DigestError } from '../../storage/digest.ts';
import type { IncomingLayer } from '../../storage/layer-store.ts';
import { UnexpectedEofError } from '../archive/byte-reader.ts';
import type { LayerState } from '../image-puller.ts';
import { InvalidContentError, isInvalidContent } from '../invalid-content.ts';
import type { Descriptor } from '../manifest.ts';
import { fetchBlob } from './fetch-blob.ts';
import type { HostClient } from './host-client.ts';
import type { RepositoryFetcher } from './repository-fetcher.ts';

export interface TransferDeps {
  readonly registry: string;
  readonly source: RepositoryFetcher;
  readonly clock: Clock;
  readonly log: Log;
  report(state: LayerState): void;
}

/**
 * Transfers a layer from any host that has it. Content is verified while it is unpacked: if it is invalid, the layer is
 * fetched again, without the host that sent its beginning.
 */
export class LayerTransfer implements IncomingLayer {
  readonly digest: string;
  readonly registry: string;
  readonly #layer: Descriptor;
  readonly #deps: TransferDeps;
  readonly #excluded = new Set<HostClient>();
  readonly #reasons: string[] = [];
  /** The hosts that sent parts of it in the last attempt, in this order. */
  #senders = new Set<HostClient>();

  constructor(layer: Descriptor, deps: TransferDeps) {
    this.digest = layer.digest;
    this.registry = deps.registry;
    this.#layer = layer;
    this.#deps = deps;
  }

  async *open(signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const { source, clock, report } = this.#deps;
    const progress = {
      received: (receivedBytes: number) => report({ phase: 'coming', receivedBytes }),
      retrying: (receivedBytes: number, reason: string) => report({ phase: 'retrying', receivedBytes, reason }),
    };
    this.#senders = new Set();
    progress.received(0);
    const failover = source.blobFailover(this.#excluded);
    for await (const chunk of fetchBlob(failover, this.#layer, { clock, progress }, signal)) {
      this.#senders.add(failover.host);
      yield chunk;
    }
    report({ phase: 'done' });
  }

  onPresent(): void {
    this.#deps.report({ phase: 'present' });
  }

  onFailed(error: unknown): void {
    const [first] = this.#senders;
    const isHostError = isInvalidContent(error) || error instanceof UnexpectedEofError;
    if (!isHostError || first === undefined) throw error;
    const reason = this.#reasonOf(error);
    this.#reasons.push(reason);
    this.#excluded.add(first);
    const { source, log, report } = this.#deps;
    source.deprioritize(first);
    if (!source.hasOthers(this.#excluded)) throw new InvalidContentError(this.#reasons.join('; '), { cause: error });
    log.warn('a registry sent an invalid layer; trying the next host', { layer: this.digest, reason });
    report({ phase: 'retrying', receivedBytes: 0, reason });
  }

  /** Several hosts may have sent parts of it. */
  #reasonOf(error: unknown): string {
    const urls = [...this.#senders].map(({ url }) => url).join(' and ');
    const what = error instanceof DigestError ? '' : `layer ${this.digest}: `; // a digest error names the layer
    return `${urls}: ${what}${errorText(error)}`;
  }
}
