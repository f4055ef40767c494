import { parseDurationMs } from '../../base/duration.ts';
import { goQuote } from '../../base/go/go-quote.ts';
import { urlHostError } from '../../base/go/url-host-error.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { LoggingConfiguration, TracingConfiguration } from './generated/kubelet-configuration.ts';
import type { IsOn } from './honoured-gates.ts';

const MAX_LEVEL = 2 ** 31 - 1;

/** Objections to the program's own log, each with the path of its field. */
export function* loggingErrors(logging: LoggingConfiguration, isOn: IsOn): Generator<string> {
  const { flushFrequency, format, verbosity, vmodule = [] } = logging;
  if (parseDurationMs(flushFrequency) <= 0) {
    yield `logging.flushFrequency: Invalid value: "${flushFrequency}": Must be greater than zero`;
  }
  if (format !== 'text' && format !== 'json') {
    yield `logging.format: Invalid value: ${JSON.stringify(format)}: Unsupported log format`;
  }
  if (format === 'json' && !isOn('LoggingBetaOptions')) {
    yield 'logging.format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature';
  }
  if (verbosity > MAX_LEVEL) yield `logging.verbosity: Invalid value: ${verbosity}: Must be <= ${MAX_LEVEL}`;
  if (vmodule.length > 0 && format !== 'text') {
    yield 'logging.vmodule: Forbidden: Only supported for text log format';
  }
  for (const [index, { filePattern, verbosity: level }] of vmodule.entries()) {
    const path = `logging.vmodule[${index}]`;
    if (filePattern === '') yield `${path}: Required value: File pattern must not be empty`;
    if (/[=,]/.test(filePattern)) {
      yield `${path}: Invalid value: ${JSON.stringify(filePattern)}: File pattern must not contain equal sign or comma`;
    }
    if (level > MAX_LEVEL) yield `${path}: Invalid value: ${level}: Must be <= ${MAX_LEVEL}`;
  }
  if (!isOn('LoggingAlphaOptions')) yield* alphaOptionErrors(logging);
}

function* alphaOptionErrors({ options }: LoggingConfiguration): Generator<string> {
  for (const format of ['text', 'json'] as const) {
    const { splitStream, infoBufferSize } = options[format];
    const disabled = 'Forbidden: Feature LoggingAlphaOptions is disabled';
    if (splitStream) yield `logging.options.${format}.splitStream: ${disabled}`;
    if (!parseQuantity(infoBufferSize).isZero()) yield `logging.options.${format}.infoBufferSize: ${disabled}`;
  }
}

const SCHEMES = ['dns', 'unix', 'unix-abstract'];

/** Objections to where traces go. */
export function* tracingErrors(tracing: TracingConfiguration | undefined): Generator<string> {
  const { endpoint, samplingRatePerMillion: rate = 0 } = tracing ?? {};
  const ratePath = `tracing.samplingRatePerMillion: Invalid value: ${rate}:`;
  if (rate < 0) yield `${ratePath} sampling rate must be positive`;
  if (rate > 1_000_000) yield `${ratePath} sampling rate per million must be less than or equal to one million`;
  if (endpoint === undefined) return;
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const hostError = urlHostError(url);
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase();
  const endpointPath = `tracing.endpoint: Invalid value: ${goQuote(url)}:`;
  if (hostError !== undefined) yield `${endpointPath} ${hostError}`;
  else if (!SCHEMES.includes(scheme)) {
    yield `${endpointPath} unsupported scheme: ${scheme}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
  }
}
