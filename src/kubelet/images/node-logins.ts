import { join } from 'node:path/posix';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import { parseDockerConfigJson, parseDockercfg } from './docker-config.ts';
import type { DockerConfig } from './registry-login.ts';

/** How long the files are cached. */
const LIFETIME_MS = 300_000;

export interface NodeLoginsDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: NodeLoginSettings;
}

export interface NodeLoginSettings {
  readonly rootDir: string;
  /** The working directory of the agent. Absent: not searched. */
  readonly workingDir?: string | undefined;
  /** The home directory of the agent's user. Absent: not searched. */
  readonly homeDir?: string | undefined;
}

interface LoginFile {
  readonly path: string;
  readonly parse: (text: string) => DockerConfig;
}

/** The node's logins, which apply to all pods: the first docker configuration in kubelet's search order. */
export class NodeLogins {
  readonly #deps: NodeLoginsDeps;
  #read: { readonly config: Promise<DockerConfig>; readonly untilMs: number } | undefined;

  constructor(deps: NodeLoginsDeps) {
    this.#deps = deps;
  }

  async config(signal: AbortSignal): Promise<DockerConfig> {
    signal.throwIfAborted();
    const now = this.#deps.clock.monotonic();
    if (!this.#read || now >= this.#read.untilMs) {
      this.#read = { config: this.#readFirst(), untilMs: now + LIFETIME_MS };
    }
    return this.#read.config;
  }

  async #readFirst(): Promise<DockerConfig> {
    for (const file of loginFiles(this.#deps.settings)) {
      const config = await this.#readOne(file);
      if (config) return config;
    }
    return new Map();
  }

  async #readOne({ path, parse }: LoginFile): Promise<DockerConfig | undefined> {
    try {
      return parse(await this.#deps.fs.readText(path));
    } catch (error) {
      const isAbsent = error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
      if (!isAbsent) this.#deps.log.warn('cannot use docker configuration of the node', { path, error });
      return undefined;
    }
  }
}

function loginFiles({ rootDir, workingDir, homeDir }: NodeLoginSettings): readonly LoginFile[] {
  const present = (paths: readonly (string | undefined)[]): string[] => paths.filter((path) => path !== undefined);
  const ofHome = homeDir === undefined ? undefined : join(homeDir, '.docker');
  return [
    ...present([rootDir, workingDir, ofHome, '/.docker']).map((folder) => ({
      path: join(folder, 'config.json'),
      parse: parseDockerConfigJson,
    })),
    ...present([rootDir, workingDir, homeDir, '/']).map((folder) => ({
      path: join(folder, '.dockercfg'),
      parse: parseDockercfg,
    })),
  ];
}
