import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Random } from '../../host/random.ts';
import { CriError } from '../cri-error.ts';
import {
  ContainerEventResponse,
  type ContainerEventType,
  type RuntimeCondition,
  type RuntimeHandlerFeatures,
} from '../generated/runtime-v1.ts';
import type { BehaviourOf, ContainerBehaviour } from './behaviour.ts';
import type { Effect } from './effects.ts';
import { EventFeed } from './event-feed.ts';
import type { RegistryImage } from './image-calls.ts';
import { containerStatusMessage, sandboxStatusMessage } from './messages.ts';
import type { FakeContainer, FakeImage, FakeSandbox } from './records.ts';

export interface WorldOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly behaviourOf?: BehaviourOf;
  /** Called on each effect, before its event is published. Must not throw. */
  readonly onEffect?: (effect: Effect) => void;
  /** Filesystem for container logs; absent: no logs. */
  readonly fs?: Pick<FileSystem, 'makeDirectory' | 'appendFile'>;
  /** The first two octets of pod addresses. */
  readonly subnet?: string;
}

/** State of the fake runtime. The RPCs are in the files beside it, one per kind of object. */
export class FakeWorld {
  readonly clock: Clock;
  readonly fs: WorldOptions['fs'];
  readonly onEffect: (effect: Effect) => void;
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly containers = new Map<string, FakeContainer>();
  /** By id. */
  readonly images = new Map<string, FakeImage>();
  readonly registry = new Map<string, RegistryImage>();
  readonly behaviours = new Map<string, ContainerBehaviour>();
  readonly conditions = new Map<string, RuntimeCondition>();
  readonly handlers = new Map<string, RuntimeHandlerFeatures>();
  readonly events = new EventFeed<ContainerEventResponse>();
  readonly #random: Random;
  readonly #behaviourOf: BehaviourOf;
  readonly #subnet: string;
  #lastMs = Number.NEGATIVE_INFINITY;
  #withinMs = 0n;

  constructor({ clock, random, behaviourOf = () => undefined, fs, subnet = '10.244', ...options }: WorldOptions) {
    this.clock = clock;
    this.fs = fs;
    this.onEffect = options.onEffect ?? (() => {});
    this.#random = random;
    this.#behaviourOf = behaviourOf;
    this.#subnet = subnet;
  }

  newId(): string {
    return Buffer.from(this.#random.bytes(32)).toString('hex');
  }

  /** Nanoseconds since the epoch; two readings within a millisecond differ, as on a real machine. */
  timestamp(): bigint {
    const ms = Math.floor(this.clock.now());
    this.#withinMs = ms === this.#lastMs ? this.#withinMs + 1n : 0n;
    this.#lastMs = ms;
    return BigInt(ms) * 1_000_000n + this.#withinMs;
  }

  behaviourOf(container: FakeContainer, sandbox: FakeSandbox): ContainerBehaviour {
    const name = container.config.metadata?.name ?? '';
    return this.#behaviourOf(container.config, sandbox.config) ?? this.behaviours.get(name) ?? {};
  }

  /** The lowest address that no ready sandbox uses. */
  freeAddress(): string {
    const taken = new Set([...this.sandboxes.values()].map((sandbox) => sandbox.ip));
    for (let number = 2; number < 256 * 256; number++) {
      const ip = `${this.#subnet}.${number >> 8}.${number & 255}`;
      if (!taken.has(ip)) return ip;
    }
    throw new CriError('Unknown', 'failed to setup network for sandbox: no IP addresses available in range set');
  }

  containersOf(sandboxId: string): readonly FakeContainer[] {
    const found: FakeContainer[] = [];
    for (const container of this.containers.values()) if (container.sandboxId === sandboxId) found.push(container);
    return found;
  }

  /** `id` is the id of the container or of the sandbox. */
  publishEvent(type: ContainerEventType, id: string, sandboxId: string): void {
    if (!this.events.hasSubscribers) return;
    const sandbox = this.sandboxes.get(sandboxId);
    this.events.publish(
      ContainerEventResponse.fromPartial({
        containerId: id,
        containerEventType: type,
        createdAt: this.timestamp(),
        podSandboxStatus: sandbox && sandboxStatusMessage(sandbox),
        containersStatuses: this.containersOf(sandboxId).map((container) => containerStatusMessage(this, container)),
      }),
    );
  }
}
