/**
 * Names that go into DNS and the other small syntaxes of Kubernetes; each check returns the API server's messages.
 * Lengths are bytes everywhere, though the API server says `characters` of some names and `bytes` of others.
 */

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const QUALIFIED_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const LABEL_MAX = 63;
const SUBDOMAIN_MAX = 253;

/** An RFC 1123 label: container names, namespaces, host names. */
export function dnsLabelErrors(value: string): string[] {
  const messages = lengthErrors(value, LABEL_MAX);
  if (matches(value, LABEL)) return messages;
  if (matches(value, SUBDOMAIN)) return [...messages, 'must not contain dots'];
  const rule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
  return [...messages, regexError(rule, LABEL, 'my-name', '123-abc')];
}

/** An RFC 1123 subdomain: pod, secret and node names. */
export function dnsSubdomainErrors(value: string, unit: 'characters' | 'bytes' = 'characters'): string[] {
  const messages = lengthErrors(value, SUBDOMAIN_MAX, unit);
  if (matches(value, SUBDOMAIN)) return messages;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexError(rule, SUBDOMAIN, 'example.com')];
}

/** A subdomain whose labels may start with an underscore or hold one: DNS search paths. */
export function dnsSubdomainWithUnderscoreErrors(value: string): string[] {
  const label = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
  const pattern = `${label}(\\.${label})*`;
  const messages = lengthErrors(value, SUBDOMAIN_MAX);
  if (matches(value, pattern)) return messages;
  const rule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexError(rule, pattern, 'example.com')];
}

/** A key of labels or annotations, a resource name: `name` or `prefix/name`. */
export function qualifiedNameErrors(value: string): string[] {
  const parts = value.split('/');
  const rule =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  const message = regexError(rule, QUALIFIED_NAME, 'MyName', 'my.name', '123-abc');
  if (parts.length > 2) {
    return [`a valid label key ${message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  const [prefix, name] = parts.length === 2 ? [parts[0], parts[1] ?? ''] : [undefined, value];
  const messages: string[] = [];
  if (prefix === '') messages.push('prefix part must be non-empty');
  else if (prefix !== undefined)
    messages.push(...dnsSubdomainErrors(prefix, 'bytes').map((text) => `prefix part ${text}`));
  if (name === '') messages.push('name part must be non-empty');
  else messages.push(...lengthErrors(name, LABEL_MAX, 'bytes').map((text) => `name part ${text}`));
  if (!matches(name, QUALIFIED_NAME)) messages.push(`name part ${message}`);
  return messages;
}

export function labelValueErrors(value: string): string[] {
  const pattern = `(${QUALIFIED_NAME})?`;
  const messages = lengthErrors(value, LABEL_MAX, 'bytes');
  if (matches(value, pattern)) return messages;
  const rule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  return [...messages, regexError(rule, pattern, 'MyValue', 'my_value', '12345')];
}

/** The name of a container port, as an IANA service name. */
export function portNameErrors(value: string): string[] {
  const messages = lengthErrors(value, 15);
  if (!/^[-a-z0-9]+$/.test(value))
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(value)) messages.push('must contain at least one letter (a-z)');
  if (value.includes('--')) messages.push('must not contain consecutive hyphens');
  if (value.startsWith('-') || value.endsWith('-')) messages.push('must not begin or end with a hyphen');
  return messages;
}

export function portNumberErrors(port: number): string[] {
  return rangeErrors(port, 1, 65_535);
}

export function rangeErrors(value: number, low: number, high: number): string[] {
  return value >= low && value <= high ? [] : [`must be between ${low} and ${high}, inclusive`];
}

export function envNameErrors(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty'];
  if (/^[ -<>-~]*$/.test(value)) return [];
  return ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

/** A key of a ConfigMap or Secret. */
export function configKeyErrors(value: string): string[] {
  const pattern = '[-._a-zA-Z0-9]+';
  const messages = lengthErrors(value, SUBDOMAIN_MAX);
  if (!matches(value, pattern)) {
    const rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
    messages.push(regexError(rule, pattern, 'key.name', 'KEY_NAME', 'key-name'));
  }
  if (value === '.' || value === '..') messages.push(`must not be '${value}'`);
  else if (value.startsWith('..')) messages.push("must not start with '..'");
  return messages;
}

export function httpHeaderNameErrors(value: string): string[] {
  const pattern = '[-A-Za-z0-9]+';
  if (matches(value, pattern)) return [];
  return [regexError("a valid HTTP header must consist of alphanumeric characters or '-'", pattern, 'X-Header-Name')];
}

/** The API server's words for a text that is longer than allowed. */
function lengthErrors(value: string, max: number, unit: 'characters' | 'bytes' = 'characters'): string[] {
  return Buffer.byteLength(value) > max ? [`must be no more than ${max} ${unit}`] : [];
}

/** The API server's words for a text that does not match: the rule, examples and the expression. */
function regexError(rule: string, pattern: string, ...examples: string[]): string {
  if (examples.length === 0) return `${rule} (regex used for validation is '${pattern}')`;
  const quoted = examples.map((example) => `'${example}', `).join(' or ');
  return `${rule} (e.g. ${quoted}regex used for validation is '${pattern}')`;
}

function matches(value: string, pattern: string): boolean {
  return new RegExp(`^${pattern}$`).test(value);
}
