import { isDeepStrictEqual } from 'node:util';
import type { TlsSettings } from '../../host/network.ts';
import type { ClientConfig, ClientUser, ExecPlugin, Pem } from './client-config.ts';
import { type ClientCertificate, CredentialError, checkKeyPair } from './exec-credential.ts';
import { PluginCredentials, type PluginDeps } from './exec-plugin.ts';
import { ReloadingFiles, type ReloadingFilesDeps } from './reloading-files.ts';

/** The client's current credentials and trusted authorities. */
export interface Identity {
  /** The `Authorization` header. Absent: a client certificate, or anonymous. */
  readonly authorization: string | undefined;
  /** The same object until something in it changes: then new connections are needed. */
  readonly tls: TlsSettings;
}

export interface Credentials {
  /** Rejects with a `CredentialError` or the signal's reason. */
  current(signal: AbortSignal): Promise<Identity>;
  /** Called after a 401 response: reloads the credentials where they can change. */
  onUnauthorized(identity: Identity): void;
}

export type CredentialDeps = ReloadingFilesDeps & PluginDeps;

/** A value that may change. */
interface Reloadable<T> {
  value(signal: AbortSignal): Promise<T>;
  invalidate(): void;
}

interface PresentedCredentials {
  readonly authorization: string | undefined;
  readonly certificate: ClientCertificate | undefined;
}

export function createCredentials({ cluster, user }: ClientConfig, deps: CredentialDeps): Credentials {
  const authority = cluster.authority ? pemSource(cluster.authority, deps) : constant(undefined);
  const shown =
    user.plugin === undefined || hasConfiguredCredentials(user)
      ? configuredCredentials(user, deps)
      : pluginCredentials(user.plugin, authority, deps);
  let last:
    | { readonly ca: string | undefined; readonly shown: PresentedCredentials; readonly identity: Identity }
    | undefined;
  return {
    async current(signal) {
      const [ca, own] = await Promise.all([authority.value(signal), shown.value(signal)]);
      if (last && isDeepStrictEqual([ca, own], [last.ca, last.shown])) return last.identity;
      const isSameTls = last && isDeepStrictEqual([ca, own.certificate], [last.ca, last.shown.certificate]);
      const tls = last && isSameTls ? last.identity.tls : tlsSettings(ca, own.certificate, cluster.tlsServerName);
      last = { ca, shown: own, identity: { authorization: own.authorization, tls } };
      return last.identity;
    },
    onUnauthorized(identity) {
      if (identity !== last?.identity) return; // already reloaded
      for (const part of [authority, shown]) part.invalidate();
    },
  };
}

function tlsSettings(
  ca: string | undefined,
  pair: ClientCertificate | undefined,
  serverName: string | undefined,
): TlsSettings {
  return {
    ...(ca !== undefined && { authorities: [ca], isExclusive: true }),
    ...(pair !== undefined && { clientCertificates: [pair] }),
    ...(serverName !== undefined && { serverName }),
  };
}

function hasConfiguredCredentials({ token, password, certificate }: ClientUser): boolean {
  return token !== undefined || password !== undefined || certificate !== undefined;
}

function configuredCredentials(
  { token, password, certificate }: ClientUser,
  deps: CredentialDeps,
): Reloadable<PresentedCredentials> {
  const pair = certificate ? keyPairSource(certificate, deps) : constant(undefined);
  const bearer = token ? tokenSource(token, deps) : constant(undefined);
  const basic = password && `Basic ${Buffer.from(`${password.username}:${password.password}`).toString('base64')}`;
  return {
    async value(signal) {
      const [known, bearerToken] = await Promise.all([pair.value(signal), bearer.value(signal)]);
      return { certificate: known, authorization: bearerToken === undefined ? basic : `Bearer ${bearerToken}` };
    },
    invalidate() {
      pair.invalidate();
      bearer.invalidate();
    },
  };
}

function pluginCredentials(
  plugin: ExecPlugin,
  authority: Reloadable<string | undefined>,
  deps: CredentialDeps,
): Reloadable<PresentedCredentials> {
  const asked = new PluginCredentials(plugin, (signal) => authority.value(signal), deps);
  return {
    async value(signal) {
      const { token, certificate } = await asked.value(signal);
      return { certificate, authorization: token === undefined ? undefined : `Bearer ${token}` };
    },
    invalidate: () => asked.invalidate(),
  };
}

function pemSource(pem: Pem, deps: ReloadingFilesDeps): Reloadable<string> {
  return 'pem' in pem ? constant(pem.pem) : new ReloadingFiles([pem.file], ([text = '']) => text, deps);
}

/** A pair in files changes as a whole: while certificate and key do not match, the old pair is used. */
function keyPairSource(
  given: { readonly certificate: Pem; readonly key: Pem },
  deps: ReloadingFilesDeps,
): Reloadable<ClientCertificate> {
  const { certificate, key } = given;
  const pick = (pem: Pem, texts: ReadonlyMap<string, string>): string =>
    'pem' in pem ? pem.pem : (texts.get(pem.file) ?? '');
  const paths = [certificate, key].flatMap((pem) => ('file' in pem ? [pem.file] : []));
  const parse = (texts: readonly string[]): ClientCertificate => {
    const byPath = new Map(paths.map((path, index) => [path, texts[index] ?? '']));
    return checkKeyPair({ certificate: pick(certificate, byPath), key: pick(key, byPath) });
  };
  return new ReloadingFiles(paths, parse, deps);
}

function tokenSource(token: NonNullable<ClientUser['token']>, deps: ReloadingFilesDeps): Reloadable<string> {
  if ('token' in token) return constant(token.token);
  const parse = ([text = '']: readonly string[]): string => {
    const trimmed = text.trim();
    if (trimmed === '') throw new CredentialError(`read empty token from file ${JSON.stringify(token.file)}`);
    return trimmed;
  };
  return new ReloadingFiles([token.file], parse, deps);
}

function constant<T>(value: T): Reloadable<T> {
  return { value: async () => value, invalidate() {} };
}
