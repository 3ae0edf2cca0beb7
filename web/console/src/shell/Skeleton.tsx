export { Skeleton } from "@castalia/oracles-ui/parts";
