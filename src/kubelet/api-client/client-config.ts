/**
 * The connection to a server and the client's identity, from a kubeconfig with its context resolved. Paths are
 * absolute.
 */
export interface ClientConfig {
  readonly cluster: ClusterAddress;
  readonly user: ClientUser;
}

export interface ClusterAddress {
  /** `https://10.0.0.1:6443`, with a path if the API is not at the root, without a trailing slash. */
  readonly server: string;
  /** Absent: the host's certificate authorities. */
  readonly authority?: Pem;
  readonly insecureSkipVerify: boolean;
  /** The name in the server's certificate. Absent: its host. */
  readonly tlsServerName?: string;
  /** `http://` or `https://` */
  readonly proxy?: string;
}

/** Inline, or in a file that may change. */
export type Pem = { readonly pem: string } | { readonly file: string };

/** All configured credentials are presented. The plugin is used only if there are none. */
export interface ClientUser {
  readonly certificate?: { readonly certificate: Pem; readonly key: Pem };
  readonly token?: { readonly token: string } | { readonly file: string };
  readonly password?: { readonly username: string; readonly password: string };
  readonly plugin?: ExecPlugin;
}

/** A program that provides the client's credentials (`client.authentication.k8s.io`). */
export interface ExecPlugin {
  readonly apiVersion: ExecApiVersion;
  /** A path, or a name that is searched in the `PATH`. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  /** The cluster information for the plugin. Absent: none. */
  readonly cluster?: Readonly<Record<string, unknown>>;
}

export type ExecApiVersion = 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1';
