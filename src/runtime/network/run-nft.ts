import { type Processes, ProcessStartError } from '../../host/processes.ts';

export interface NftRun {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly input?: string;
}

export interface NftResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Part of the error of `nft` for a table or rule that does not exist. */
export const NFT_MISSING = 'No such file or directory';

/** Rejects with the package's name if `nft` is not installed. */
export async function runNft(processes: Pick<Processes, 'run'>, run: NftRun, signal: AbortSignal): Promise<NftResult> {
  try {
    const { exitCode, stdout, stderr } = await processes.run({ program: 'nft', ...run }, signal);
    const decoder = new TextDecoder();
    return { exitCode, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr).trim() };
  } catch (error) {
    if (!(error instanceof ProcessStartError) || error.code !== 'ENOENT') throw error;
    throw new Error('nft is not installed; install the package nftables', { cause: error });
  }
}
