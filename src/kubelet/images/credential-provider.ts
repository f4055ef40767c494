import type { Pod } from '../../api/generated/core-v1.ts';
import { abortable } from '../../base/abortable.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log, LogFields } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import type { Processes } from '../../host/processes.ts';
import { imageChannel } from './image-channel.ts';
import { type AccountLookup, lookUpPodAccount, type PodAccountDeps, type TokenAttributes } from './pod-account.ts';
import { ProviderError, type ProviderResponse, parseProviderResponse, providerRequest } from './provider-exchange.ts';
import { type AccountScope, cacheKey, inFlightKey } from './provider-keys.ts';
import type { DockerConfig, LoginOwner, LoginSource } from './registry-login.ts';
import { matchesRegistry, parseRegistryPattern } from './registry-pattern.ts';

/** The time limit of a provider. */
const EXEC_MS = 60_000;
/** Larger output is an error: it would exhaust the agent's memory. */
const MAX_OUTPUT_BYTES = 1024 * 1024;
/** The part of the provider's stderr that is logged. */
const MAX_STDERR_CHARS = 2000;

/** A provider of the CredentialProviderConfig. */
export interface ProviderSpec {
  readonly name: string;
  /** The path of the plugin. */
  readonly program: string;
  readonly args: readonly string[];
  /** The complete environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Registries that the provider is for: `*.example.com/team`. */
  readonly matchImages: readonly string[];
  /** How long a response without its own duration is cached; 0: not at all. */
  readonly defaultCacheMs: number;
  /** The version of the exchange: `credentialprovider.kubelet.k8s.io/v1`. */
  readonly apiVersion: string;
  /** The service account data that it requests. Absent: none, and its responses apply to every pod. */
  readonly tokenAttributes?: TokenAttributes | undefined;
}

export interface ProviderDeps {
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
  /** Provides service accounts and their tokens. Absent: standalone, where no provider requests them. */
  readonly accounts?: PodAccountDeps | undefined;
}

interface CacheEntry {
  readonly logins: DockerConfig;
  readonly untilMs: number;
}

/** One request to a provider. */
interface ProviderQuery {
  readonly repository: string;
  readonly pod: Pod;
  readonly scope: AccountScope | undefined;
}

const NODE_OWNER: LoginOwner = { kind: 'node' };
const NO_LOGINS: LoginSource = { config: new Map(), owner: NODE_OWNER };

/** Runs a credential provider plugin and caches its responses as long as it allows. */
export class CredentialProvider {
  readonly #spec: ProviderSpec;
  readonly #deps: ProviderDeps;
  readonly #life: AbortSignal;
  readonly #cache = new Map<string, CacheEntry>();
  /** Concurrent requests for the same key share one run. */
  readonly #inFlight = new Map<string, Promise<DockerConfig>>();

  /** Runs end when `life` aborts. */
  constructor(spec: ProviderSpec, deps: ProviderDeps, life: AbortSignal) {
    this.#spec = spec;
    this.#deps = deps;
    this.#life = life;
  }

  /**
   * Empty for repositories that the provider does not match, and on errors: the error is logged and the pull is tried
   * without these logins.
   */
  async logins(repository: string, pod: Pod, signal: AbortSignal): Promise<LoginSource> {
    if (!this.#matches(repository)) return NO_LOGINS;
    const found = await this.#lookUpAccount(repository, pod, signal);
    if (found.kind === 'notAsked') return NO_LOGINS;
    const scope = this.#accountScope(found);
    const question = { repository, pod, scope };
    const running = (): Promise<DockerConfig> =>
      this.#inFlight.get(inFlightKey(repository, scope)) ?? this.#start(question);
    const config = this.#cached(question) ?? (await abortable(running(), signal));
    return { config, owner: scope ? accountOwner(scope) : NODE_OWNER };
  }

  #matches(repository: string): boolean {
    const target = parseRegistryPattern(repository);
    return this.#spec.matchImages.some((pattern) => matchesRegistry(parseRegistryPattern(pattern), target));
  }

  async #lookUpAccount(repository: string, pod: Pod, signal: AbortSignal): Promise<AccountLookup> {
    const { tokenAttributes } = this.#spec;
    const { accounts, log } = this.#deps;
    if (!tokenAttributes) return { kind: 'none' };
    if (!accounts) return { kind: 'notAsked', why: 'there is no API server' };
    try {
      const found = await lookUpPodAccount(pod, tokenAttributes, accounts, signal);
      if (found.kind === 'notAsked') {
        log.debug('skipping credential provider', { ...this.#logFields(repository, pod), why: found.why });
      }
      return found;
    } catch (error) {
      signal.throwIfAborted();
      log.error('cannot get credentials from credential provider', { ...this.#logFields(repository, pod), error });
      return { kind: 'notAsked', why: 'what it wants to know cannot be had' };
    }
  }

  #accountScope(found: AccountLookup): AccountScope | undefined {
    const { tokenAttributes } = this.#spec;
    if (found.kind !== 'account' || !tokenAttributes) return undefined;
    return { account: found.account, cacheType: tokenAttributes.cacheType };
  }

  #cached({ repository, scope }: ProviderQuery): DockerConfig | undefined {
    const now = this.#deps.clock.monotonic();
    for (const [key, { untilMs }] of this.#cache) if (now > untilMs) this.#cache.delete(key);
    const keys = (['Image', 'Registry', 'Global'] as const).map((type) => cacheKey(type, repository, scope));
    return keys.map((key) => this.#cache.get(key)?.logins).find((logins) => logins !== undefined);
  }

  #start(question: ProviderQuery): Promise<DockerConfig> {
    const key = inFlightKey(question.repository, question.scope);
    const run = this.#fetchOrLog(question).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, run);
    return run;
  }

  async #fetchOrLog(question: ProviderQuery): Promise<DockerConfig> {
    try {
      return await this.#fetch(question);
    } catch (error) {
      const { repository, pod } = question;
      this.#deps.log.error('cannot get credentials from credential provider', {
        ...this.#logFields(repository, pod),
        error,
      });
      return NO_LOGINS.config;
    }
  }

  async #fetch(question: ProviderQuery): Promise<DockerConfig> {
    const { apiVersion, defaultCacheMs } = this.#spec;
    const { repository, scope } = question;
    const response = parseProviderResponse(await this.#run(question), apiVersion);
    if (scope) rejectEchoedToken(response, scope);
    const { logins, cacheKeyType, cacheMs = defaultCacheMs } = response;
    if (cacheMs > 0) {
      const untilMs = this.#deps.clock.monotonic() + cacheMs;
      this.#cache.set(cacheKey(cacheKeyType, repository, scope), { logins, untilMs });
    }
    return logins;
  }

  /** Returns its standard output. */
  async #run({ repository, scope }: ProviderQuery): Promise<string> {
    const { name, program, args, env, apiVersion } = this.#spec;
    const { processes, clock } = this.#deps;
    const deadline = clock.deadline(EXEC_MS);
    const input = providerRequest(apiVersion, repository, scope?.account);
    const beganMs = clock.monotonic();
    let isError = true;
    const fail = (why: string, cause?: unknown): ProviderError =>
      new ProviderError(`error execing credential provider plugin ${name} for image ${repository}: ${why}`, { cause });
    try {
      const limit = AbortSignal.any([this.#life, deadline]);
      const command = { program, args, env, input, maxOutputBytes: MAX_OUTPUT_BYTES };
      const { exitCode, stdout, stderr } = await processes.run(command, limit);
      const stderrText = new TextDecoder().decode(stderr).slice(0, MAX_STDERR_CHARS);
      if (exitCode !== 0) throw fail(`exit status ${exitCode}: ${stderrText}`);
      isError = false;
      return new TextDecoder().decode(stdout);
    } catch (error) {
      if (error instanceof ProviderError) throw error;
      throw fail(deadline.aborted ? 'context deadline exceeded' : errorText(error), error);
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      imageChannel.publish({ kind: 'providerRan', provider: name, tookMs, isError });
    }
  }

  /** Fields of log lines. The pod is named only if the provider gets its service account. */
  #logFields(image: string, { metadata, spec }: Pod): LogFields {
    const { name: provider, tokenAttributes } = this.#spec;
    if (!tokenAttributes) return { provider, image };
    const { namespace, name, uid } = metadata;
    const serviceAccount = `${namespace}/${spec.serviceAccountName ?? ''}`;
    return { provider, image, pod: `${namespace}/${name}`, podUID: uid, serviceAccount };
  }
}

/**
 * Throws if the provider returned the service account token as a password: a cached login must not outlive the token,
 * so this is allowed only if the cache is per token.
 */
function rejectEchoedToken({ logins }: ProviderResponse, { account, cacheType }: AccountScope): void {
  if (cacheType === 'Token' || !logins.values().some(({ password }) => password === account.token)) return;
  throw new ProviderError(
    "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
  );
}

function accountOwner({ account: { uid, namespace, name } }: AccountScope): LoginOwner {
  return { kind: 'serviceAccount', account: { uid, namespace, name } };
}

/** The logins of all providers for a repository, in the order of configuration. The providers run concurrently. */
export function providerLogins(
  repository: string,
  pod: Pod,
  providers: readonly CredentialProvider[],
  signal: AbortSignal,
): Promise<readonly LoginSource[]> {
  return Promise.all(providers.map((provider) => provider.logins(repository, pod, signal)));
}
