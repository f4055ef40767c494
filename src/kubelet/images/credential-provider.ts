import { abortable } from '../../base/abortable.ts';
import type { Log } from '../../base/log.ts';
import { textOf } from '../../base/text-of.ts';
import type { Clock } from '../../host/clock.ts';
import type { Processes } from '../../host/processes.ts';
import { type CacheKeyType, ProviderError, parseProviderResponse, providerRequest } from './provider-exchange.ts';
import type { DockerConfig, LoginSource } from './registry-login.ts';
import { matchesRegistry, parseRegistryPattern } from './registry-pattern.ts';

/** How long a provider may take for an answer. */
const EXEC_MS = 60_000;
/** More is no answer, and would cost the agent its memory. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** As much of its complaint goes to the log. */
const MAX_COMPLAINT = 2000;

/** A provider of the CredentialProviderConfig. */
export interface ProviderSpec {
  readonly name: string;
  /** The program that is asked. */
  readonly program: string;
  readonly args: readonly string[];
  /** The whole environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Registries for which it is asked: `*.example.com/team`. */
  readonly matchImages: readonly string[];
  /** How long an answer is kept that does not say so itself; 0: not at all. */
  readonly defaultCacheMs: number;
  /** The version in which it is spoken to: `credentialprovider.kubelet.k8s.io/v1`. */
  readonly apiVersion: string;
}

export interface ProviderDeps {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
}

interface Kept {
  readonly logins: DockerConfig;
  readonly untilMs: number;
}

/** Logins that a program of the machine's owner gives out; its answers are kept as long as it allows. */
export class CredentialProvider {
  readonly #spec: ProviderSpec;
  readonly #deps: ProviderDeps;
  readonly #life: AbortSignal;
  readonly #kept = new Map<string, Kept>();
  /** By repository: whoever asks for the same waits for the same run. */
  readonly #running = new Map<string, Promise<DockerConfig>>();

  /** No run outlives `life`. */
  constructor(spec: ProviderSpec, deps: ProviderDeps, life: AbortSignal) {
    this.#spec = spec;
    this.#deps = deps;
    this.#life = life;
  }

  /** None for what it is not for, and none when it fails: the pull is tried without, and the log says why. */
  async logins(repository: string, signal: AbortSignal): Promise<DockerConfig> {
    if (!this.#isFor(repository)) return new Map();
    const kept = this.#keptFor(repository);
    return kept ?? abortable(this.#running.get(repository) ?? this.#start(repository), signal);
  }

  #isFor(repository: string): boolean {
    const target = parseRegistryPattern(repository);
    return this.#spec.matchImages.some((pattern) => matchesRegistry(parseRegistryPattern(pattern), target));
  }

  #keptFor(repository: string): DockerConfig | undefined {
    const now = this.#deps.clock.monotonic();
    for (const [key, { untilMs }] of this.#kept) if (now > untilMs) this.#kept.delete(key);
    const keys = (['Image', 'Registry', 'Global'] as const).map((type) => cacheKey(type, repository));
    return keys.map((key) => this.#kept.get(key)?.logins).find((logins) => logins !== undefined);
  }

  #start(repository: string): Promise<DockerConfig> {
    const run = this.#askOrTell(repository).finally(() => this.#running.delete(repository));
    this.#running.set(repository, run);
    return run;
  }

  async #askOrTell(repository: string): Promise<DockerConfig> {
    try {
      return await this.#ask(repository);
    } catch (error) {
      const { name: provider } = this.#spec;
      this.#deps.log.error('cannot get credentials from a provider', { provider, image: repository, error });
      return new Map();
    }
  }

  async #ask(repository: string): Promise<DockerConfig> {
    const { apiVersion, defaultCacheMs } = this.#spec;
    const {
      logins,
      cacheKeyType,
      cacheMs = defaultCacheMs,
    } = parseProviderResponse(await this.#run(repository), apiVersion);
    if (cacheMs > 0) {
      const untilMs = this.#deps.clock.monotonic() + cacheMs;
      this.#kept.set(cacheKey(cacheKeyType, repository), { logins, untilMs });
    }
    return logins;
  }

  /** Its standard output. */
  async #run(repository: string): Promise<string> {
    const { name, program, args, env, apiVersion } = this.#spec;
    const { processes, clock } = this.#deps;
    const deadline = clock.deadline(EXEC_MS);
    const input = providerRequest(apiVersion, repository);
    const fail = (why: string, cause?: unknown): ProviderError =>
      new ProviderError(`error execing credential provider plugin ${name} for image ${repository}: ${why}`, { cause });
    try {
      const limit = AbortSignal.any([this.#life, deadline]);
      const command = { program, args, env, input, maxOutputBytes: MAX_OUTPUT_BYTES };
      const { exitCode, stdout, stderr } = await processes.run(command, limit);
      const complaint = new TextDecoder().decode(stderr).slice(0, MAX_COMPLAINT);
      if (exitCode !== 0) throw fail(`exit status ${exitCode}: ${complaint}`);
      return new TextDecoder().decode(stdout);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw fail(deadline.aborted ? 'context deadline exceeded' : textOf(error), error);
    }
  }
}

function cacheKey(type: CacheKeyType, repository: string): string {
  if (type === 'Global') return '<global>';
  return type === 'Image' ? repository : (repository.split('/', 1)[0] ?? '');
}

/** What each provider has for a repository, in their order; each is asked at the same time. */
export function loginsOfProviders(
  repository: string,
  providers: readonly CredentialProvider[],
  signal: AbortSignal,
): Promise<readonly LoginSource[]> {
  return Promise.all(
    providers.map(async (provider) => ({ config: await provider.logins(repository, signal), secret: undefined })),
  );
}
