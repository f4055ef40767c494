import type { FakeContainer } from '../../src/cri/fake/records.ts';
import type { MemoryNetwork, MemoryService } from '../../src/host/fake/memory-network.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import { type Program, passesProbe, programOf } from './program.ts';

interface Server {
  readonly address: string;
  close(): void;
}

/** The servers in the containers of a world, for their probes. */
export class SimServers {
  readonly #network: MemoryNetwork;
  readonly #clock: VirtualClock;
  /** By container. */
  readonly #servers = new Map<string, Server>();

  constructor(network: MemoryNetwork, clock: VirtualClock) {
    this.#network = network;
    this.#clock = clock;
  }

  started({ id, config }: Readonly<FakeContainer>, ip: string | undefined): void {
    const program = programOf(config.args);
    if (!program.server || ip === undefined) return;
    const target = { host: ip, port: program.server.port };
    const address = `${ip}:${target.port}`;
    for (const [other, server] of this.#servers) if (server.address === address) this.ended(other);
    const startedAt = this.#clock.monotonic();
    let listener: { close(): void } | undefined;
    const become = (next: 'up' | 'hanging' | 'down'): void => {
      listener?.close();
      listener = undefined;
      if (next === 'up') listener = this.#network.listen(target, this.#service(program, startedAt));
      if (next === 'hanging') listener = this.#network.blackHole(target);
    };
    const { startupAfterMs = 0, unhealthyAfterMs, server } = program;
    const isSilent = server.speaks === 'tcp' || server.whenUnhealthy !== 'reportsUnhealthy';
    const timers = [this.#at(server.speaks === 'tcp' ? startupAfterMs : 0, () => become('up'))];
    if (unhealthyAfterMs !== undefined && isSilent) {
      timers.push(this.#at(unhealthyAfterMs, () => become(server.whenUnhealthy === 'hangs' ? 'hanging' : 'down')));
    }
    const close = (): void => {
      for (const cancel of timers) cancel();
      listener?.close();
    };
    this.#servers.set(id, { address, close });
  }

  ended(id: string): void {
    this.#servers.get(id)?.close();
    this.#servers.delete(id);
  }

  #at(ms: number, change: () => void): () => void {
    if (ms > 0) return this.#clock.schedule(ms, change, { isBackground: true });
    change();
    return () => undefined;
  }

  #service(program: Program, startedAt: number): MemoryService {
    const { server, checkMs = 0 } = program;
    const passesNow = (kind: string): boolean => passesProbe(program, kind, this.#clock.monotonic() - startedAt);
    if (server?.speaks === 'http') {
      return {
        http: async ({ path, signal }) => {
          if (checkMs > 0) await this.#clock.sleep(checkMs, signal);
          return { status: passesNow(path.slice(1)) ? 200 : 500, body: 'simulated' };
        },
      };
    }
    if (server?.speaks !== 'grpc') return {};
    return {
      grpc: async ({ message }) => {
        if (checkMs > 0) await this.#clock.sleep(checkMs, new AbortController().signal);
        const service = new TextDecoder().decode(message.subarray(2));
        return { code: 0, details: '', message: Uint8Array.of(1 << 3, passesNow(service) ? 1 : 2) };
      },
    };
  }
}
