import { connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/linux-clock.ts';
import type { TestAgent } from './agent-fixture.ts';

/** Looks into the containers of an agent's pods. */
export interface Inside {
  /** Runs a line of shell in a container that runs, and answers with what it says. */
  ask(pod: string, container: string, line: string): Promise<string>;
  close(): void;
}

export function lookInside(it: TestAgent, signal: AbortSignal): Inside {
  const cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 20_000 });
  return {
    async ask(pod, container, line) {
      const found = it.report(pod).observed?.containers.find(({ name }) => name === container);
      const request = { containerId: found?.id ?? '', cmd: ['sh', '-c', line], timeout: 10n };
      const { stdout, stderr } = await cri.runtime.execSync(request, signal);
      return Buffer.concat([stdout, stderr]).toString().trim();
    },
    close: () => cri.close(),
  };
}
