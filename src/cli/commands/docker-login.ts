import { DEFAULT_PATH } from '../../base/default-path.ts';
import { errorText } from '../../base/error-text.ts';
import { parseImageName } from '../../base/image-name.ts';
import { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import { type FileSystem, FileSystemError } from '../../host/file-system.ts';
import type { Processes } from '../../host/processes.ts';
import { parseDockerConfigJson } from '../../kubelet/images/docker-config.ts';
import { matchingCredentials } from '../../kubelet/images/matching-credentials.ts';

export interface DockerLoginDeps {
  readonly fs: Pick<FileSystem, 'readText'>;
  readonly processes: Pick<Processes, 'run'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  warn(text: string): Promise<void>;
}

/** Under this name logins for Docker Hub are kept. */
const DOCKER_HUB = 'https://index.docker.io/v1/';
const MOST_HELPER_BYTES = 1024 * 1024;

interface Helpers {
  readonly credHelpers?: Readonly<Record<string, string>>;
  readonly credsStore?: string;
}

/**
 * The login that `docker login` left for the registry of an image, in the file or with a credential helper. What cannot be
 * used is warned of: the image may need none.
 */
export async function dockerLogin(
  image: string,
  deps: DockerLoginDeps,
  signal: AbortSignal,
): Promise<AuthConfig | undefined> {
  const { domain, path } = parseImageName(image);
  const file = configFile(deps.env);
  const text = file === undefined ? undefined : await readConfig(file, deps);
  if (text === undefined) return undefined;
  try {
    const config = parseDockerConfigJson(text); // also says what is wrong with the rest
    const kept = await fromHelper(domain, JSON.parse(text) as Helpers, deps, signal); // checked where it is used
    if (kept) return kept;
    const [first] = matchingCredentials(`${domain}/${path}`, [{ config, owner: { kind: 'node' } }]);
    const token = identityToken(text, domain);
    if (token !== undefined) return AuthConfig.fromPartial({ identityToken: token });
    if (first === undefined) return undefined;
    const { username, password } = first.login;
    return AuthConfig.fromPartial({ username, password });
  } catch (error) {
    signal.throwIfAborted();
    await deps.warn(`no login from ${file}: ${errorText(error)}`);
    return undefined;
  }
}

function configFile({ DOCKER_CONFIG: folder, HOME: home }: DockerLoginDeps['env']): string | undefined {
  if (folder) return `${folder}/config.json`;
  return home ? `${home}/.docker/config.json` : undefined;
}

async function readConfig(path: string, { fs, warn }: DockerLoginDeps): Promise<string | undefined> {
  try {
    return await fs.readText(path);
  } catch (error) {
    const isAbsent = error instanceof FileSystemError && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
    if (!isAbsent) await warn(`no login from ${path}: ${errorText(error)}`);
    return undefined;
  }
}

/** `docker-credential-NAME get` has the server's name on its standard input, and answers in JSON. */
async function fromHelper(
  domain: string,
  { credHelpers = {}, credsStore }: Helpers,
  { processes, env }: DockerLoginDeps,
  signal: AbortSignal,
): Promise<AuthConfig | undefined> {
  const name =
    serversOf(domain)
      .map((server) => credHelpers[server])
      .find(Boolean) ?? credsStore;
  if (!name) return undefined;
  if (!/^[\w.-]+$/.test(String(name))) throw new Error('invalid name of a credential helper');
  const server = domain === 'docker.io' ? DOCKER_HUB : domain;
  const { exitCode, stdout } = await processes.run(
    {
      program: `docker-credential-${name}`,
      args: ['get'],
      env: { ...present(env), PATH: env['PATH'] ?? DEFAULT_PATH },
      input: server,
      maxOutputBytes: MOST_HELPER_BYTES,
    },
    signal,
  );
  const said = new TextDecoder().decode(stdout);
  if (exitCode !== 0) {
    if (/credentials not found/.test(said)) return undefined;
    throw new Error(`docker-credential-${name} ended with exit code ${exitCode}`);
  }
  const { Username: username, Secret: secret } = helperAnswer(said, name);
  return AuthConfig.fromPartial(username === '<token>' ? { identityToken: secret } : { username, password: secret });
}

/** Its text is never quoted: it holds a password. */
function helperAnswer(text: string, name: string): { readonly Username: string; readonly Secret: string } {
  try {
    const { Username, Secret } = JSON.parse(text) as Record<string, unknown>; // looked at below
    if (typeof Username === 'string' && typeof Secret === 'string') return { Username, Secret };
  } catch {
    // reported below
  }
  throw new Error(`docker-credential-${name} answered without a login`);
}

/** Of a registry that gave one in place of a password. */
function identityToken(text: string, domain: string): string | undefined {
  const { auths } = JSON.parse(text) as {
    readonly auths?: Record<string, { readonly identitytoken?: unknown } | null>;
  };
  const tokens = serversOf(domain).map((server) => auths?.[server]?.identitytoken);
  return tokens.find((token): token is string => typeof token === 'string' && token !== '');
}

/** As docker spells a registry in its configuration. */
function serversOf(domain: string): readonly string[] {
  return domain === 'docker.io' ? [DOCKER_HUB, 'docker.io', 'index.docker.io'] : [domain, `https://${domain}`];
}

function present(env: DockerLoginDeps['env']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
