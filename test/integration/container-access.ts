import { connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import type { TestAgent } from './agent-fixture.ts';

/** Access to the containers of an agent's pods. */
export interface ContainerAccess {
  /** Runs a shell command in a running container and returns its output. */
  ask(pod: string, container: string, line: string): Promise<string>;
  /** The host process id of a running container. */
  pid(pod: string, container: string): Promise<number>;
  close(): void;
}

export function accessContainers(it: TestAgent, signal: AbortSignal): ContainerAccess {
  const cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  const idOf = (pod: string, container: string): string =>
    it.report(pod).observed?.containers.find(({ name }) => name === container)?.id ?? '';
  return {
    async pid(pod, container) {
      const request = { containerId: idOf(pod, container), verbose: true };
      const { info } = await cri.runtime.containerStatus(request, signal);
      return JSON.parse(info['info'] ?? '{}').pid;
    },
    async ask(pod, container, line) {
      const request = { containerId: idOf(pod, container), cmd: ['sh', '-c', line], timeout: 120n };
      const { stdout, stderr } = await cri.runtime.execSync(request, signal);
      return Buffer.concat([stdout, stderr]).toString().trim();
    },
    close: () => cri.close(),
  };
}
