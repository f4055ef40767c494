import { abortable } from '../../base/abortable.ts';
import type { Log } from '../../base/log.ts';
import type { Clock } from '../../host/clock.ts';
import { type Processes, ProcessStartError } from '../../host/processes.ts';
import type { ExecPlugin } from './client-config.ts';
import { CredentialError, type ExecCredential, execInfo, parseExecCredential } from './exec-credential.ts';

/** The time limit of a plugin. */
const PLUGIN_MS = 60_000;
const MAX_OUTPUT_BYTES = 1 << 20;
const LOGGED_BYTES = 1_000;

export interface PluginDeps {
  readonly processes: Pick<Processes, 'run'>;
  readonly clock: Clock;
  readonly log: Log;
  /** The environment of child processes. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Runs an exec plugin once for all callers and caches its credential until it expires or is invalidated. */
export class PluginCredentials {
  readonly #plugin: ExecPlugin;
  readonly #authority: (signal: AbortSignal) => Promise<string | undefined>;
  readonly #deps: PluginDeps;
  #known: ExecCredential | undefined;
  #running: Promise<ExecCredential> | undefined;

  /** `authority` returns the server's CA in PEM. */
  constructor(plugin: ExecPlugin, authority: (signal: AbortSignal) => Promise<string | undefined>, deps: PluginDeps) {
    this.#plugin = plugin;
    this.#authority = authority;
    this.#deps = deps;
  }

  /** Rejects with a `CredentialError`. */
  async value(signal: AbortSignal): Promise<ExecCredential> {
    const { expiresMs = Number.POSITIVE_INFINITY } = this.#known ?? {};
    if (this.#known && this.#deps.clock.now() <= expiresMs) return this.#known;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return abortable(this.#running, signal);
  }

  /** Called when the server rejects the credential. */
  invalidate(): void {
    this.#known = undefined;
  }

  async #run(): Promise<ExecCredential> {
    const { clock, log, processes, environment } = this.#deps;
    const { command, args, env } = this.#plugin;
    const until = clock.deadline(PLUGIN_MS);
    const info = execInfo(this.#plugin, await this.#authority(until));
    const { exitCode, stdout, stderr } = await processes
      .run(
        {
          program: command,
          args,
          env: definedVariables({ ...environment, ...env, KUBERNETES_EXEC_INFO: info }),
          input: '',
          maxOutputBytes: MAX_OUTPUT_BYTES,
        },
        until,
      )
      .catch((error: unknown) => {
        throw this.#startError(error);
      });
    const stderrText = new TextDecoder().decode(stderr.subarray(0, LOGGED_BYTES)).trim();
    if (stderrText !== '') log.warn('exec plugin wrote to stderr', { command, stderr: stderrText });
    if (exitCode !== 0) throw new CredentialError(`exec: executable ${command} failed with exit code ${exitCode}`);
    this.#known = parseExecCredential(new TextDecoder().decode(stdout), this.#plugin);
    return this.#known;
  }

  #startError(error: unknown): CredentialError {
    const { command, installHint } = this.#plugin;
    if (!(error instanceof ProcessStartError)) {
      return new CredentialError(`exec: executable ${command} failed`, { cause: error });
    }
    const hint = installHint === '' ? '' : `\n\n${installHint}`;
    return new CredentialError(`exec: executable ${command} not found${hint}`, { cause: error });
  }
}

function definedVariables(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
