import { dirname } from 'node:path';
import { aborted } from '../../base/aborted.ts';
import { errorText } from '../../base/error-text.ts';
import type { Log } from '../../base/log.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Network } from '../../host/network.ts';
import type { TlsHandler, TlsServer, TlsServerSettings, TlsVersion } from '../../host/tls-server.ts';
import type { ServingCertificate } from '../certificates/serving-certificate.ts';

export interface KubeletApiAddress {
  readonly address: string;
  readonly port: number;
  /** Authorities of client certificates; absent: client certificates are ignored. */
  readonly clientCaFile?: string | undefined;
  readonly minVersion?: TlsVersion | undefined;
  readonly cipherSuites?: readonly string[] | undefined;
  /** As in `TlsServerSettings`. */
  readonly curves?: readonly number[] | undefined;
}

export interface KubeletApiServing {
  readonly network: Pick<Network, 'serveTls'>;
  readonly fs: Pick<FileSystem, 'readText' | 'watch'>;
  readonly log: Log;
  readonly certificate: ServingCertificate;
  /** Called with the port when the server listens. */
  onListening?(port: number): void;
}

/**
 * Serves until the signal aborts. A changed serving certificate or client CA file applies to new connections; an invalid
 * one is logged, and the previous one stays in use. Rejects when it cannot start.
 */
export async function serveKubeletApi(
  settings: KubeletApiAddress,
  handler: TlsHandler,
  deps: KubeletApiServing,
  signal: AbortSignal,
): Promise<void> {
  const { network, log, certificate } = deps;
  const { address: host, port, clientCaFile } = settings;
  let authorities = clientCaFile === undefined ? undefined : await readAuthorities(clientCaFile, deps.fs);
  if (signal.aborted) return;
  const serving = (): TlsServerSettings => tlsSettings(settings, certificate, authorities);
  const server = await network.serveTls({ host, port }, serving(), handler);
  const over = new AbortController();
  const stop = AbortSignal.any([signal, over.signal]);
  const unsubscribe = certificate.subscribe(() => updateSettings(server, serving(), log));
  updateSettings(server, serving(), log); // it may have changed before the subscription
  try {
    log.info('serving the kubelet API', { address: host, port: server.port });
    deps.onListening?.(server.port);
    const following =
      clientCaFile !== undefined &&
      followAuthorities(clientCaFile, deps, stop, (text) => {
        if (text === authorities) return;
        authorities = text;
        updateSettings(server, serving(), log);
      });
    await Promise.all([aborted(signal), following]);
  } finally {
    over.abort();
    unsubscribe();
    await server.close();
  }
}

function tlsSettings(
  { minVersion, cipherSuites, curves }: KubeletApiAddress,
  certificate: ServingCertificate,
  authorities: string | undefined,
): TlsServerSettings {
  const identity = certificate.current();
  return {
    ...(identity && { identity }),
    ...(authorities !== undefined && { clientAuthorities: [authorities] }),
    ...(minVersion && { minVersion }),
    ...(cipherSuites && { cipherSuites }),
    ...(curves && { curves }),
  };
}

function updateSettings(server: TlsServer, serving: TlsServerSettings, log: Log): void {
  try {
    server.updateSettings(serving);
  } catch (error) {
    log.error('cannot use the new certificate, the previous one stays in use', { error });
  }
}

async function readAuthorities(path: string, fs: Pick<FileSystem, 'readText'>): Promise<string> {
  try {
    return await fs.readText(path);
  } catch (error) {
    throw new Error(`unable to load client CA file ${path}: ${errorText(error)}`, { cause: error });
  }
}

async function followAuthorities(
  path: string,
  { fs, log }: Pick<KubeletApiServing, 'fs' | 'log'>,
  signal: AbortSignal,
  changed: (text: string) => void,
): Promise<void> {
  try {
    for await (const _ of fs.watch(dirname(path), signal)) {
      // While the file is replaced it may be missing or incomplete.
      const text = await fs.readText(path).catch(() => '');
      if (text.trim() !== '') changed(text);
    }
  } catch (error) {
    if (!signal.aborted) log.error('cannot watch the client CA file any more', { path, error });
  }
}
