import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { CreateContainerRequest, NamespaceMode, PodSandboxConfig } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import type { TestRuntime } from '../integration/runtime-fixture.ts';

export interface DrivenPod {
  readonly podSandboxId: string;
  readonly containerId: string;
}

const signal = new AbortController().signal;

/** Starts and removes pods of one container with the calls of kubelet, sequentially for each pod. */
export class CriDriver {
  readonly #cri: CriConnection;
  readonly #runtime: TestRuntime;
  #pods = 0;

  constructor(runtime: TestRuntime) {
    this.#runtime = runtime;
    this.#cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
  }

  async start(command: readonly string[] = ['sleep', '100000']): Promise<DrivenPod> {
    const { runtime } = this.#cri;
    const config = this.#config(`bench-${this.#pods++}`);
    const { podSandboxId } = await runtime.runPodSandbox({ config, runtimeHandler: '' }, signal);
    const request = CreateContainerRequest.fromPartial({
      podSandboxId,
      sandboxConfig: config,
      config: {
        metadata: { name: 'main' },
        image: { image: BUSYBOX_IMAGE },
        command: [...command],
        logPath: 'main/0.log',
        linux: {
          resources: { cpuShares: 2n, cpuPeriod: 100_000n, oomScoreAdj: 1000n },
          securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER }, seccomp: { profileType: 0 } },
        },
      },
    });
    const { containerId } = await runtime.createContainer(request, signal);
    await runtime.startContainer({ containerId }, signal);
    return { podSandboxId, containerId };
  }

  async end({ podSandboxId, containerId }: DrivenPod): Promise<void> {
    const { runtime } = this.#cri;
    await runtime.stopContainer({ containerId, timeout: 0n }, signal); // `sleep` ignores SIGTERM
    await runtime.removeContainer({ containerId }, signal);
    await runtime.stopPodSandbox({ podSandboxId }, signal);
    await runtime.removePodSandbox({ podSandboxId }, signal);
  }

  close(): void {
    this.#cri.close();
  }

  #config(name: string): PodSandboxConfig {
    const { folder, cgroupParent } = this.#runtime;
    return PodSandboxConfig.fromPartial({
      metadata: { name, uid: `uid-${name}`, namespace: 'default' },
      hostname: name,
      logDirectory: `${folder}/logs/${name}`,
      labels: { 'io.kubernetes.pod.uid': `uid-${name}` },
      dnsConfig: { servers: ['10.0.0.10'], searches: ['default.svc.cluster.local'], options: ['ndots:5'] },
      linux: { cgroupParent, securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
    });
  }
}
