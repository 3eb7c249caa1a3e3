// What LaTeX calls the characters that people write.

const words = (text) =>
  Object.fromEntries(
    text
      .trim()
      .split(/\s+/)
      .map((pair) => pair.split("=")),
  );

/** Letters: italic, as variables are. */
export const LETTERS = words(`
  alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ
  nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ
  Xi=Ξ Pi=Π Sigma=Σ Upsilon=Υ Phi=Φ Psi=Ψ Omega=Ω ell=ℓ hbar=ℏ infty=∞ emptyset=∅ varnothing=∅ partial=∂ nabla=∇
  Re=ℜ Im=ℑ aleph=ℵ imath=ı jmath=ȷ`);

/** Operators and relations. */
export const OPERATORS = words(`
  times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=• oplus=⊕ otimes=⊗ cup=∪ cap=∩ setminus=∖ wedge=∧ vee=∨
  land=∧ lor=∨ neg=¬ lnot=¬ le=≤ leq=≤ leqslant=⩽ ge=≥ geq=≥ geqslant=⩾ ne=≠ neq=≠ approx=≈ equiv=≡ sim=∼ simeq=≃
  cong=≅ propto=∝ ll=≪ gg=≫ in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ mid=∣ nmid=∤ parallel=∥ perp=⊥
  to=→ rightarrow=→ leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ iff=⟺ mapsto=↦
  longrightarrow=⟶ forall=∀ exists=∃ therefore=∴ because=∵ angle=∠ triangle=△ square=□ degree=° prime=′
  ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ colon=: lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ langle=⟨ rangle=⟩ lvert=| rvert=|
  vert=| Vert=‖ lVert=‖ rVert=‖ lbrace={ rbrace=} lbrack=[ rbrack=] backslash=\\ checkmark=✓ uparrow=↑ downarrow=↓`);

/** Operators that carry their limits below and above. */
export const LARGE = words("sum=∑ prod=∏ bigcup=⋃ bigcap=⋂ coprod=∐ int=∫ iint=∬ oint=∮");

/** Names that are written upright. */
export const FUNCTIONS = new Set(
  "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp lim max min sup inf det dim ker gcd lcm deg arg mod Pr hom".split(
    " ",
  ),
);

export const SPACES = {
  ",": "0.17em",
  ":": "0.22em",
  ";": "0.28em",
  " ": "0.3em",
  quad: "1em",
  qquad: "2em",
  "!": "0",
};

export const BLACKBOARD = { R: "ℝ", N: "ℕ", Z: "ℤ", Q: "ℚ", C: "ℂ", P: "ℙ", F: "𝔽", E: "𝔼" };

export const ACCENTS = {
  bar: "¯",
  overline: "¯",
  hat: "^",
  widehat: "^",
  vec: "→",
  overrightarrow: "→",
  tilde: "~",
  dot: "˙",
  ddot: "¨",
};

export const FENCES = {
  matrix: ["", ""],
  pmatrix: ["(", ")"],
  bmatrix: ["[", "]"],
  vmatrix: ["|", "|"],
  cases: ["{", ""],
  aligned: ["", ""],
  align: ["", ""],
  "align*": ["", ""],
  array: ["", ""],
  gathered: ["", ""],
  equation: ["", ""],
  "equation*": ["", ""],
};
