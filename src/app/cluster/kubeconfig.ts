import { dirname, resolve } from 'node:path/posix';
import { goErrorList } from '../../base/go/go-error-list.ts';
import type { ClientConfig, ClientUser, ClusterAddress, Pem } from '../../kubelet/api-client/client-config.ts';
import {
  decodeKubeconfig,
  type KubeconfigCluster,
  type KubeconfigDocument,
  KubeconfigError,
  type KubeconfigUser,
} from './kubeconfig-document.ts';
import { clusterErrors, userErrors } from './kubeconfig-errors.ts';
import { execPlugin } from './kubeconfig-exec.ts';

/**
 * Parses the current context of a kubeconfig as client-go does: paths are relative to the file, and errors of other
 * contexts are ignored. Throws a `KubeconfigError` with all errors. Does not read the files that it refers to.
 */
export function parseKubeconfig(content: string, path: string): ClientConfig {
  const { clusterName, cluster, userName, user } = currentContext(decodeKubeconfig(content, path), path);
  const errors = [...userErrors(userName, user), ...clusterErrors(clusterName, cluster)];
  if (errors.length > 0) throw new KubeconfigError(path, `invalid configuration: ${goErrorList(errors)}`);
  const folder = dirname(path);
  const address = clusterAddress(cluster, user, folder);
  return { cluster: address, user: clientUser(user, cluster, folder) };
}

function currentContext({ 'current-context': name, ...document }: KubeconfigDocument, path: string) {
  if (name === '') throw new KubeconfigError(path, 'current-context: no context chosen');
  const context = document.contexts.find((each) => each.name === name)?.context;
  if (!context) throw new KubeconfigError(path, `current-context: context ${JSON.stringify(name)} does not exist`);
  const user = document.users.find((each) => each.name === context.user)?.user;
  // A context without a user is anonymous.
  if (!user && context.user !== '') {
    throw new KubeconfigError(path, `auth info ${JSON.stringify(context.user)} does not exist`);
  }
  const cluster = document.clusters.find((each) => each.name === context.cluster)?.cluster;
  if (!cluster) throw new KubeconfigError(path, `cluster ${JSON.stringify(context.cluster)} does not exist`);
  return { clusterName: context.cluster, cluster, userName: context.user, user };
}

function clusterAddress(cluster: KubeconfigCluster, user: KubeconfigUser | undefined, folder: string): ClusterAddress {
  const authority = readPem(cluster['certificate-authority'], cluster['certificate-authority-data'], folder);
  const {
    'tls-server-name': tlsServerName,
    'proxy-url': proxy,
    'insecure-skip-tls-verify': insecureSkipVerify,
  } = cluster;
  const hasCertificate = Boolean(user?.['client-certificate'] || user?.['client-certificate-data']);
  const isSecure = authority !== undefined || hasCertificate || insecureSkipVerify;
  return {
    server: serverUrl(cluster.server, isSecure),
    insecureSkipVerify,
    ...(authority && { authority }),
    ...(tlsServerName !== '' && { tlsServerName }),
    ...(proxy !== '' && { proxy }),
  };
}

/** A `host:port` without a scheme is HTTP, unless the configuration has TLS settings. */
function serverUrl(server: string, isSecure: boolean): string {
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(server);
  const { protocol, host, pathname } = new URL(hasScheme ? server : `${isSecure ? 'https' : 'http'}://${server}`);
  return `${protocol}//${host}${pathname.replace(/\/+$/, '')}`;
}

function clientUser(user: KubeconfigUser | undefined, cluster: KubeconfigCluster, folder: string): ClientUser {
  if (!user) return {};
  const { token, tokenFile, username, password, exec } = user;
  const certificate = readPem(user['client-certificate'], user['client-certificate-data'], folder);
  const key = readPem(user['client-key'], user['client-key-data'], folder);
  return {
    ...(certificate && key && { certificate: { certificate, key } }),
    // The token file takes precedence: it can be replaced while the agent runs.
    ...(tokenFile !== '' ? { token: { file: resolve(folder, tokenFile) } } : token !== '' && { token: { token } }),
    ...((username !== '' || password !== '') && { password: { username, password } }),
    ...(exec && { plugin: execPlugin(exec, cluster, folder) }),
  };
}

/** Inline data takes precedence over a file. */
function readPem(file: string, data: string, folder: string): Pem | undefined {
  if (data !== '') return { pem: Buffer.from(data, 'base64').toString('utf8') };
  return file === '' ? undefined : { file: resolve(folder, file) };
}
