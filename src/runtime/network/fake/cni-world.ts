import { silentLog } from '../../../base/log.ts';
import { createMemoryHost, type MemoryHost } from '../../../host/fake/memory-host.ts';
import type { NetworkSettings } from '../../settings/runtime-settings.ts';
import { type CniPodNetwork, createPodNetwork } from '../create-pod-network.ts';
import { isJsonObject, type JsonObject } from '../json-object.ts';
import type { NetworkedPod } from '../pod-network.ts';

/** One run of a plugin: `bridge ADD`, its input, and CNI's variables without the command. */
export interface RecordedCall {
  readonly call: string;
  readonly input: JsonObject;
  readonly env: Readonly<Record<string, string>>;
}

/** A scripted plugin run: its output and exit code. */
export interface PluginAnswer {
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

export const CONF_DIR = '/etc/cni/net.d';
export const CACHE_DIR = '/var/lib/nodelet/cni';

export const POD: NetworkedPod = {
  sandboxId: 's1',
  runtimeHandler: '',
  namespacePath: '/run/netns/s1',
  name: 'web',
  namespace: 'default',
  uid: 'u1',
  annotations: {},
  portMappings: [],
  cgroupParent: '',
  dns: { servers: [], searches: [], options: [] },
};

/** An in-memory machine with CNI plugins that record their calls and can be scripted to fail. */
export class CniWorld {
  readonly host: MemoryHost = createMemoryHost();
  readonly calls: RecordedCall[] = [];
  /** Scripted answers by call, such as `bridge ADD`, or promises of them. */
  readonly answers = new Map<string, PluginAnswer | Promise<PluginAnswer>>();
  #lastAddress = 1;

  async write(name: string, config: unknown, folder = CONF_DIR): Promise<void> {
    await this.host.fs.makeDirectory(folder);
    await this.host.fs.writeFile(`${folder}/${name}`, typeof config === 'string' ? config : JSON.stringify(config));
  }

  /** Installs a plugin in `/opt/cni/bin` by default. */
  install(type: string, folder = '/opt/cni/bin'): void {
    this.host.processes.install(`${folder}/${type}`, async ({ env, input, stdout, stderr, ended }) => {
      const config: unknown = JSON.parse(new TextDecoder().decode(input));
      const { CNI_COMMAND: command = '', ...others } = env;
      const call = `${type} ${command}`;
      this.calls.push({ call, input: isJsonObject(config) ? config : {}, env: others });
      const scripted = this.answers.get(call);
      const answer = scripted instanceof Promise ? await Promise.race([scripted, aborted(ended)]) : scripted;
      stdout(answer?.stdout ?? (command === 'ADD' ? this.#result(config, env['CNI_IFNAME'] ?? '') : ''));
      stderr(answer?.stderr ?? '');
      return answer?.exitCode ?? 0;
    });
  }

  /** Creates one process's view of the network: a second one is a restart. */
  network(settings: Partial<NetworkSettings> = {}): CniPodNetwork {
    return createPodNetwork({
      ...this.host,
      cacheDir: CACHE_DIR,
      log: silentLog,
      environment: { PATH: '/sbin' },
      settings: {
        confDir: CONF_DIR,
        binDirs: ['/opt/cni/bin', '/usr/lib/cni'],
        maxConfigs: 1,
        setUpSerially: false,
        ipPreference: 'ipv4',
        handlers: new Map(),
        ...settings,
      },
    });
  }

  /** Creates a pod whose network namespace is pinned: a mount on a device of its own. */
  async pod(given: Partial<NetworkedPod> = {}): Promise<NetworkedPod> {
    const { fs, mounts } = this.host;
    const sandboxId = given.sandboxId ?? POD.sandboxId;
    const namespacePath = `/run/netns/${sandboxId}`;
    if ((await fs.stat('/nsfs')) === undefined) {
      await fs.makeDirectory('/nsfs');
      await mounts.mount({ source: 'nsfs', target: '/nsfs', type: 'tmpfs' });
    }
    await fs.makeDirectory('/run/netns');
    await fs.writeFile(namespacePath, '');
    await fs.writeFile(`/nsfs/${sandboxId}`, '');
    await mounts.mount({ source: `/nsfs/${sandboxId}`, target: namespacePath, flags: ['bind'] });
    return { ...POD, sandboxId, namespacePath, ...given };
  }

  /** Returns and clears the recorded calls. */
  takeCalls(): string[] {
    return this.calls.splice(0).map(({ call }) => call);
  }

  /** A later plugin of a chain passes the previous result on. */
  #result(config: unknown, interfaceName: string): string {
    if (isJsonObject(config) && isJsonObject(config.prevResult)) return JSON.stringify(config.prevResult);
    this.#lastAddress += 1;
    return JSON.stringify({
      interfaces: [{ name: interfaceName, sandbox: '/ns' }],
      ips: [{ address: `10.0.0.${this.#lastAddress}/24`, interface: 0 }],
    });
  }
}

async function aborted(signal: AbortSignal): Promise<undefined> {
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
