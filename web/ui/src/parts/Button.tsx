import type { ButtonHTMLAttributes } from "react";
import { Icon, type IconName } from "./Icon";

/** How a button looks. */
type Look = "plain" | "primary" | "quiet" | "round" | "wide";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  /** One look or several, with blanks between. */
  look?: Look | `${Look} ${Look}`;
}

export function Button({ look = "plain", type = "button", className, ...rest }: ButtonProps) {
  const looks = look.split(" ").map((one) => `castalia-${one}`);
  const classes = ["castalia-button", ...looks, className].filter(Boolean).join(" ");
  return <button type={type} className={classes} {...rest} />;
}

/** A button that is a drawing, with its name for those who do not see it. */
export function IconButton({
  icon,
  label,
  ...rest
}: ButtonProps & { icon: IconName; label: string }) {
  return (
    <Button look="quiet" aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </Button>
  );
}
