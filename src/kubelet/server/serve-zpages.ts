import { byCodePoint } from '../../base/code-point-order.ts';
import { goJson } from '../../base/go/go-json.ts';
import type { ServerResponse } from '../../host/network.ts';
import type { TlsRequest } from '../../host/tls-server.ts';
import { PLAIN_TEXT } from './responses.ts';
import { negotiatePage, type PageEncoding, type PageFormat } from './zpages/negotiate-page.ts';
import { type ProcessStatus, statuszFields, statuszText } from './zpages/statusz.ts';
import { yamlText } from './zpages/yaml-text.ts';

type PageRequest = Pick<TlsRequest, 'headers' | 'query'>;
type Fields = Parameters<typeof yamlText>[0];

const FLAGZ_HEADER =
  '\nkubelet flagz\nWarning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.\n';
const COMPONENT = 'kubelet';
const ACCEPTED = 'application/json, application/yaml, text/plain';

/** `/flagz`: the flags of the command line, as text or as an object of `config.k8s.io`. */
export function serveFlagz(flags: Readonly<Record<string, string>>, request: PageRequest): ServerResponse {
  const sorted = Object.entries(flags).toSorted(([a], [b]) => byCodePoint(a, b));
  const text = (): string => FLAGZ_HEADER + sorted.map(([name, value]) => `${name}: ${value}\n`).join('');
  return servePage('Flagz', request, { text, fields: { flags: Object.fromEntries(sorted) } });
}

/** `/statusz`: since when the process runs, and in which version. */
export function serveStatusz(status: ProcessStatus, request: PageRequest): ServerResponse {
  return servePage('Statusz', request, { text: () => statuszText(status), fields: statuszFields(status) });
}

interface Page {
  text(): string;
  readonly fields: Fields;
}

function servePage(kind: string, { headers, query }: PageRequest, page: Page): ServerResponse {
  const format = negotiatePage(kind, headers, query);
  switch (format.kind) {
    case 'text':
      return { status: 200, headers: PLAIN_TEXT, body: page.text() };
    case 'object': {
      const { encoding, version, pretty } = format;
      const apiVersion = `config.k8s.io/${version}`;
      const object = { kind, apiVersion, metadata: { name: COMPONENT }, ...page.fields };
      const type = `application/${encoding};g=config.k8s.io;v=${version};as=${kind}`;
      const old = `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`;
      const warning = version === 'v1alpha1' ? { warning: old } : {};
      return { status: 200, headers: { 'content-type': type, ...warning }, body: encoded(object, encoding, pretty) };
    }
    case 'notAcceptable':
      return notAcceptable(format);
  }
}

function encoded(object: Fields, encoding: PageEncoding, pretty: boolean): string {
  if (encoding === 'yaml') return yamlText(object);
  return pretty ? JSON.stringify(object, undefined, 2) : `${goJson(object)}\n`;
}

function notAcceptable({ encoding, pretty }: Extract<PageFormat, { kind: 'notAcceptable' }>): ServerResponse {
  const message = `only the following media types are accepted: ${ACCEPTED}`;
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
  const object = { ...status, message, reason: 'NotAcceptable', code: 406 };
  if (encoding === undefined) {
    const headers = { 'content-type': 'application/json' };
    return { status: 406, headers, body: JSON.stringify(object, undefined, 2) };
  }
  const headers = { 'content-type': `application/${encoding}` };
  return { status: 406, headers, body: encoded(object, encoding, pretty) };
}
