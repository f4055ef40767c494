import type { Log } from '../../../base/log.ts';
import { textOf } from '../../../base/text-of.ts';
import type { Clock } from '../../../host/clock.ts';
import { DigestError } from '../../storage/digest.ts';
import type { IncomingLayer } from '../../storage/layer-store.ts';
import { CutOffError } from '../archive/byte-reader.ts';
import type { LayerState } from '../image-puller.ts';
import type { Descriptor } from '../manifest.ts';
import { isWrongContent, WrongContentError } from '../wrong-content.ts';
import { blobBytes } from './blob-bytes.ts';
import type { HostClient } from './host-client.ts';
import type { RegistrySource } from './registry-source.ts';

export interface TransferDeps {
  readonly source: RegistrySource;
  readonly clock: Clock;
  readonly log: Log;
  tell(state: LayerState): void;
}

/**
 * A layer that comes from whoever has it. Only when it is unpacked it is known whether the bytes were right: if not, it
 * comes again, without the host that gave the beginning.
 */
export class LayerTransfer implements IncomingLayer {
  readonly digest: string;
  readonly #layer: Descriptor;
  readonly #deps: TransferDeps;
  readonly #without = new Set<HostClient>();
  readonly #reasons: string[] = [];
  /** Who gave something of it the last time, in this order. */
  #givers = new Set<HostClient>();

  constructor(layer: Descriptor, deps: TransferDeps) {
    this.digest = layer.digest;
    this.#layer = layer;
    this.#deps = deps;
  }

  async *open(signal: AbortSignal): AsyncGenerator<Uint8Array, void, void> {
    const { source, clock, tell } = this.#deps;
    const watcher = {
      coming: (receivedBytes: number) => tell({ phase: 'coming', receivedBytes }),
      retrying: (receivedBytes: number, reason: string) => tell({ phase: 'retrying', receivedBytes, reason }),
    };
    this.#givers = new Set();
    watcher.coming(0);
    const turns = source.blobTurns(this.#without);
    for await (const chunk of blobBytes(turns, this.#layer, { clock, watcher }, signal)) {
      this.#givers.add(turns.host);
      yield chunk;
    }
    tell({ phase: 'done' });
  }

  isHere(): void {
    this.#deps.tell({ phase: 'present' });
  }

  failed(error: unknown): void {
    const [first] = this.#givers;
    const isTheirs = isWrongContent(error) || error instanceof CutOffError;
    if (!isTheirs || first === undefined) throw error;
    const reason = this.#reasonOf(error);
    this.#reasons.push(reason);
    this.#without.add(first);
    const { source, log, tell } = this.#deps;
    source.putBehind(first);
    if (!source.hasOthers(this.#without)) throw new WrongContentError(this.#reasons.join('; '), { cause: error });
    log.warn('a registry sent a layer that is wrong; trying the next', { layer: this.digest, reason });
    tell({ phase: 'retrying', receivedBytes: 0, reason });
  }

  /** More than one may have given parts of it. */
  #reasonOf(error: unknown): string {
    const places = [...this.#givers].map(({ place }) => place).join(' and ');
    const what = error instanceof DigestError ? '' : `layer ${this.digest}: `; // a digest says which layer it is
    return `${places}: ${what}${textOf(error)}`;
  }
}
