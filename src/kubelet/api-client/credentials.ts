import { isDeepStrictEqual } from 'node:util';
import type { TlsSettings } from '../../host/network.ts';
import { ChangingFiles, type ChangingFilesDeps } from './reloading-files.ts';
import type { ClientConfig, ClientUser, ExecPlugin, Pem } from './client-config.ts';
import { type ClientCertificate, CredentialError, checkedPair } from './exec-credential.ts';
import { PluginCredentials, type PluginDeps } from './exec-plugin.ts';

/** Who we are at this moment, and whom we trust. */
export interface Identity {
  /** The header; absent: a certificate is enough, or nobody is asked. */
  readonly authorization: string | undefined;
  /** The same object as long as nothing in it has changed: connections by others are of no use then. */
  readonly tls: TlsSettings;
}

export interface Credentials {
  /** Rejects with a `CredentialError` or the signal's reason. */
  current(signal: AbortSignal): Promise<Identity>;
  /** The server does not know who that is (401): where it can be another, it is by the next time. */
  refused(identity: Identity): void;
}

export type CredentialDeps = ChangingFilesDeps & PluginDeps;

/** Something that may be another the next time. */
interface Changing<T> {
  value(signal: AbortSignal): Promise<T>;
  doubt(): void;
}

interface Shown {
  readonly authorization: string | undefined;
  readonly certificate: ClientCertificate | undefined;
}

export function createCredentials({ cluster, user }: ClientConfig, deps: CredentialDeps): Credentials {
  const authority = cluster.authority ? pemOf(cluster.authority, deps) : constant(undefined);
  const shown =
    user.plugin === undefined || hasOwn(user) ? ownWords(user, deps) : pluginWords(user.plugin, authority, deps);
  let last: { readonly ca: string | undefined; readonly shown: Shown; readonly identity: Identity } | undefined;
  return {
    async current(signal) {
      const [ca, own] = await Promise.all([authority.value(signal), shown.value(signal)]);
      if (last && isDeepStrictEqual([ca, own], [last.ca, last.shown])) return last.identity;
      const isSameTls = last && isDeepStrictEqual([ca, own.certificate], [last.ca, last.shown.certificate]);
      const tls = last && isSameTls ? last.identity.tls : tlsOf(ca, own.certificate, cluster.tlsServerName);
      last = { ca, shown: own, identity: { authorization: own.authorization, tls } };
      return last.identity;
    },
    refused(identity) {
      if (identity !== last?.identity) return; // it is another already
      for (const part of [authority, shown]) part.doubt();
    },
  };
}

function tlsOf(
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

function hasOwn({ token, password, certificate }: ClientUser): boolean {
  return token !== undefined || password !== undefined || certificate !== undefined;
}

function ownWords({ token, password, certificate }: ClientUser, deps: CredentialDeps): Changing<Shown> {
  const pair = certificate ? pairOf(certificate, deps) : constant(undefined);
  const bearer = token ? tokenOf(token, deps) : constant(undefined);
  const basic = password && `Basic ${Buffer.from(`${password.username}:${password.password}`).toString('base64')}`;
  return {
    async value(signal) {
      const [known, words] = await Promise.all([pair.value(signal), bearer.value(signal)]);
      return { certificate: known, authorization: words === undefined ? basic : `Bearer ${words}` };
    },
    doubt() {
      pair.doubt();
      bearer.doubt();
    },
  };
}

function pluginWords(
  plugin: ExecPlugin,
  authority: Changing<string | undefined>,
  deps: CredentialDeps,
): Changing<Shown> {
  const asked = new PluginCredentials(plugin, (signal) => authority.value(signal), deps);
  return {
    async value(signal) {
      const { token, certificate } = await asked.value(signal);
      return { certificate, authorization: token === undefined ? undefined : `Bearer ${token}` };
    },
    doubt: () => asked.forget(),
  };
}

function pemOf(pem: Pem, deps: ChangingFilesDeps): Changing<string> {
  return 'pem' in pem ? constant(pem.pem) : new ChangingFiles([pem.file], ([text = '']) => text, deps);
}

/** A pair in files changes as one: between two halves that do not fit the old one holds. */
function pairOf(
  given: { readonly certificate: Pem; readonly key: Pem },
  deps: ChangingFilesDeps,
): Changing<ClientCertificate> {
  const { certificate, key } = given;
  const pick = (pem: Pem, texts: ReadonlyMap<string, string>): string =>
    'pem' in pem ? pem.pem : (texts.get(pem.file) ?? '');
  const paths = [certificate, key].flatMap((pem) => ('file' in pem ? [pem.file] : []));
  const parse = (texts: readonly string[]): ClientCertificate => {
    const byPath = new Map(paths.map((path, index) => [path, texts[index] ?? '']));
    return checkedPair({ certificate: pick(certificate, byPath), key: pick(key, byPath) });
  };
  return new ChangingFiles(paths, parse, deps);
}

function tokenOf(token: NonNullable<ClientUser['token']>, deps: ChangingFilesDeps): Changing<string> {
  if ('token' in token) return constant(token.token);
  const parse = ([text = '']: readonly string[]): string => {
    const trimmed = text.trim();
    if (trimmed === '') throw new CredentialError(`read empty token from file ${JSON.stringify(token.file)}`);
    return trimmed;
  };
  return new ChangingFiles([token.file], parse, deps);
}

function constant<T>(value: T): Changing<T> {
  return { value: async () => value, doubt() {} };
}
